// The words of the board, beside the player's.
Object.assign(WORDS.en, {
  board: 'Board', meanings: 'What the columns mean', sources: 'Provenance',
  progressLabel: 'Progress', exports: 'Export', streams: 'Outputs, aligned by text', streamChoice: 'Prompt',
  newest: 'the newest', streamBox: 'Outputs of all lanes', streamNote: 'Same place in the text, same column.',
  'status.differs': 'other text', 'help.differs': 'not what the first lane wrote at this place',
  streamTitle: 'Lane {n}: {title}', tableOf: 'Table: {title}', fileOf: '{name}', interval: '95% interval',
});
