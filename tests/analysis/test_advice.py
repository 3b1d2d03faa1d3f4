"""The recommendation says what the figures say; command lines hold names as text and nothing else."""

import ast
import json
import shlex

import pytest
from simulated import decode, stretches

from specviz.analysis.advice import best_by_kind, choose, kinds_sentence, recommendation, sweep_report
from specviz.analysis.command_lines import flags
from specviz.analysis.costs import fit_costs
from specviz.analysis.prediction import Best
from specviz.analysis.tables import Column, Table, report_json
from specviz.trace.choices import Method
from specviz.trace.methods import METHODS

EVIL = "a'b\"; rm -rf / $(x) `y`\n; import os"


def best(gamma: int, speedup: float, standing: tuple[int, ...] | None = None, runner_up: int = 2, **more) -> Best:
    values = {"low": speedup - 0.1, "high": speedup + 0.1, "margin": 0.04, "prompts": 12, **more}
    return Best(gamma, speedup, runner_up=runner_up, standing=standing or (gamma,), **values)


def sweep(predicted: dict[int, float], measured: dict[int, float] | None = None, width: float = 0.11) -> Table:
    """width: from a measured speedup to the ends of its interval."""
    columns = [Column("measured", "measured", "times", "measured", "", "low", "high")]
    rows = [
        {"gamma": g, "predicted": p, "measured": (m := (measured or {}).get(g)), "low": m and m - width,
         "high": m and m + width, "error": p / m - 1 if m else None}
        for g, p in {0: 1.0, **predicted}.items()
    ]  # fmt: skip
    return Table("sweep", "", columns, rows)


def test_a_measured_gain_goes_before_predicted_ones():
    table = sweep({2: 1.4, 3: 1.30, 4: 1.29}, {2: 1.40, 4: 1.45})
    assert choose(table) == 4
    assert recommendation(best(3, 1.3), table) == (
        "Use gamma 4: 1.45× (1.34× to 1.56×) as fast as plain decoding, measured, 3.6% ahead of gamma 2."
    )


def test_a_measured_gain_overrules_a_prediction_without_hope():
    said = recommendation(best(0, 1.0, runner_up=2), sweep({2: 0.97}, {2: 1.12}))
    assert (
        said
        == "Use gamma 2: 1.12× (1.01× to 1.23×) as fast as plain decoding, measured, 12.0% ahead of plain decoding."
    )


def test_what_was_not_measured_must_be_better_than_predictions_miss():
    """Predictions miss by 5% here: 1.5 against 1.45 says nothing, 1.6 does."""
    close, clear = (sweep({4: 1.45 * 1.05, 6: hope}, {4: 1.45}) for hope in (1.5, 1.6))
    assert (choose(close), choose(clear)) == (4, 6)
    assert recommendation(best(6, 1.6, runner_up=4), clear) == (
        "Use gamma 6: 1.60× (1.50× to 1.70× over 12 prompts) as fast as plain decoding, predicted, 4.0% ahead of gamma "
        "4. Of those measured gamma 4 is best with 1.45× (1.34× to 1.56×), and predictions miss by 5.0% on average."
    )


def test_gammas_that_cannot_be_told_apart():
    said = recommendation(best(3, 1.3, standing=(2, 3, 4)), sweep({2: 1.2, 3: 1.3, 4: 1.2}))
    assert said == (
        "Use gamma 3: 1.30× (1.20× to 1.40× over 12 prompts) as fast as plain decoding, predicted, 4.0% ahead of gamma "
        "2. By prediction it cannot be told from gamma 2 or 4 on these prompts."
    )
    said = recommendation(best(3, 1.3, standing=(3, 4)), sweep({3: 1.3, 4: 1.2}, {3: 1.3}))
    assert said.endswith("ahead of plain decoding. By prediction it cannot be told from gamma 4 on these prompts.")


def test_do_not_speculate():
    said = recommendation(best(0, 1.0, runner_up=1), sweep({1: 0.9, 2: 0.8}, {1: 0.87}))
    assert said == (
        "Do not speculate here: the best draft, gamma 1, makes it 0.87× (0.76× to 0.98×) as fast as plain decoding, "
        "measured."
    )
    said = recommendation(best(0, 1.0, runner_up=1), sweep({1: 0.9, 2: 0.8}))
    assert said.endswith("gamma 1, makes it 0.90× as fast as plain decoding, predicted.")


def test_a_measured_loss_overrules_a_hopeful_prediction():
    table = sweep({3: 1.1}, {3: 0.95})
    assert choose(table) == 0
    assert recommendation(best(3, 1.1), table).startswith(
        "Do not speculate here: the best draft, gamma 3, makes it 0.95×"
    )


def test_a_gain_that_may_be_none():
    said = recommendation(best(4, 1.2), sweep({4: 1.2}, {4: 1.02}, width=0.05))
    assert said == (
        "Speculation hardly pays here: the best draft, gamma 4, makes it 1.02× (0.97× to 1.07×) as fast as plain "
        "decoding, measured, 2.0% ahead of plain decoding."
    )
    said = recommendation(best(2, 1.03, standing=(0, 2), runner_up=0, high=1.08), sweep({2: 1.03}))
    assert said.startswith("Speculation hardly pays here: the best draft, gamma 2")
    assert said.endswith("predicted, 4.0% ahead of plain decoding.")


def test_an_interval_that_leaves_a_large_gain_open_tells_nothing():
    said = recommendation(best(4, 1.3, standing=(2, 4)), sweep({2: 1.2, 4: 1.3}, {2: 1.1, 4: 1.27}, width=0.4))
    assert said == (
        "Cannot tell whether speculation pays here: the best draft, gamma 4, makes it 1.27× (0.87× to 1.67×) as fast "
        "as plain decoding, measured, 15.5% ahead of gamma 2. By prediction it cannot be told from gamma 2 on these "
        "prompts. Measure more prompts to know."
    )


def test_a_sure_gain_goes_before_a_larger_one_that_may_be_none():
    table = sweep({1: 1.1, 4: 1.1}, {1: 1.09, 4: 1.12}, width=0.05)
    table.rows[2] |= {"low": 0.79, "high": 1.6}
    assert choose(table) == 1
    assert recommendation(best(4, 1.1), table) == (
        "Use gamma 1: 1.09× (1.04× to 1.14×) as fast as plain decoding, measured. Gamma 4 has 1.12× (0.79× to 1.60×), "
        "more on average, but it may be no gain."
    )


def test_what_is_predicted_to_be_a_little_better_is_worth_a_measurement():
    table = sweep({3: 1.26, 4: 1.15}, {4: 1.22}, width=0.1)
    assert choose(table) == 4
    assert recommendation(best(3, 1.26), table).endswith(
        "Gamma 3 was not measured; it is predicted at 1.26×, which is within what predictions miss: measure it, too."
    )


def test_kinds_in_one_sentence():
    kinds = {"code": best(4, 1.61, (3, 4)), "prose": best(0, 1.0), "edit": best(2, 1.2)}
    assert kinds_sentence(kinds, 3) == (
        "By prediction better than with gamma 3: prose with plain decoding, edit with gamma 2 (1.20×); for code that "
        "cannot be told."
    )
    assert kinds_sentence({"code": best(4, 1.6), "edit": best(2, 1.2, (2, 4))}, 4) == (
        "By prediction no kind of text does better for sure than with gamma 4."
    )
    assert kinds_sentence({"code": best(4, 1.6)}, 4) is None


def line(engine: str, method: Method = "draft-model", gamma: int = 3, **names) -> tuple[str | None, str]:
    table = flags(names.get("target", "org/big"), names.get("draft", "org/small"), method, gamma, exit_layer=4)
    row = next(row for row in table.rows if row["engine"] == engine)
    return row["command"], row["warning"]


def test_the_lines_of_a_draft_model():
    assert line("SGLang")[0] == (
        "python3 -m sglang.launch_server --model-path org/big --speculative-algorithm STANDALONE "
        "--speculative-draft-model-path org/small --speculative-num-steps 3 --speculative-eagle-topk 1 "
        "--speculative-num-draft-tokens 4"
    )
    assert line("llama.cpp")[0] == (
        "llama-server -m big.gguf --spec-type draft-simple -md small.gguf --spec-draft-n-max 3 --spec-draft-p-min 0"
    )
    words = shlex.split(line("vLLM")[0])
    assert words[:4] == ["vllm", "serve", "org/big", "--speculative-config"]
    assert json.loads(words[4]) == {"method": "draft_model", "num_speculative_tokens": 3, "model": "org/small"}
    code = shlex.split(line("transformers")[0])[2]
    assert "assistant_model=d" in code
    assert "num_assistant_tokens = 3" in code


def test_the_lines_of_a_lookup():
    assert json.loads(shlex.split(line("vLLM", "prompt-lookup")[0])[-1])["prompt_lookup_max"] == 3
    assert "prompt_lookup_num_tokens=3, max_matching_ngram_size=3" in line("transformers", "prompt-lookup")[0]
    assert "--spec-ngram-simple-size-m 3" in line("llama.cpp", "prompt-lookup")[0]
    assert line("TGI", "prompt-lookup")[0] == "text-generation-launcher --model-id org/big --speculate 3"


def test_what_a_program_no_longer_has_is_said():
    command, warning = line("vLLM", "medusa")
    assert json.loads(shlex.split(command)[-1])["method"] == "medusa"
    assert warning == "Only up to vLLM 0.32; 0.33 no longer has Medusa, nor the MLP speculator."
    assert line("transformers", "medusa") == (None, "transformers has no Medusa.")
    assert "maintenance mode" in line("TGI", "medusa")[1]
    assert line("TGI", "draft-model")[0] is None


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_line_or_a_reason_in_every_program(method):
    table = flags("org/big", "org/small", method, 3, exit_layer=4)
    assert table.values("engine") == ["transformers", "vLLM", "SGLang", "llama.cpp", "TGI"]
    for row in table.rows:
        assert row["command"] or row["warning"]
        assert row["checked"]


@pytest.mark.parametrize("method", METHODS)
def test_names_are_text_for_the_shell_and_for_python(method):
    clean = EVIL.replace("\n", "")
    for row in flags(EVIL, EVIL, method, 3, exit_layer=4).rows:
        if row["command"] is None:
            continue
        assert "\n" not in row["command"]
        words = shlex.split(row["command"])
        assert not {";", "rm", "$(x)"} & set(words)
        if row["engine"] == "transformers":
            names = [n.value for n in ast.walk(ast.parse(words[2])) if isinstance(n, ast.Constant)]
            assert clean in names
        else:
            assert any(clean.split("/")[-1] in word for word in words)


def test_a_name_is_never_an_option():
    words = shlex.split(line("vLLM", target="--trust-remote-code")[0])
    assert words[2] == "./--trust-remote-code"
    assert shlex.split(line("llama.cpp", target="x/-h")[0])[2] == "./-h.gguf"


def test_gamma_0_gives_the_plain_lines():
    assert line("vLLM", gamma=0)[0] == "vllm serve org/big"
    assert "assistant_model" not in line("transformers", gamma=0)[0]
    assert line("SGLang", gamma=0)[0] == "python3 -m sglang.launch_server --model-path org/big"


def test_a_placeholder_stands_for_heads_without_a_name():
    table = flags("org/big", None, "medusa", 3)
    assert [row["engine"] for row in table.rows if row["command"]] == ["vLLM", "TGI"]
    assert '"model": "DRAFT"' in table.rows[1]["command"]
    assert table.rows[1]["warning"].endswith("DRAFT stands for the name of your own model.")
    assert "stands for" not in flags("org/DRAFT", None, "prompt-lookup", 3).rows[1]["warning"]


def test_placeholders_stand_for_embedded_models():
    lane = [decode(stretches(60, i), 4, prompt=f"p{i}") for i in range(3)]
    source = lane[0].trace.provenance
    source.pair, source.target.name, source.target.source = "toy", "toy/target", "local folder"
    lines = sweep_report({4: lane}, lane).table("flags")
    by_engine = {row["engine"]: row for row in lines.rows}
    served = {engine for engine, row in by_engine.items() if row["command"]}
    assert served == {"transformers", "vLLM", "SGLang", "llama.cpp"}, "all but TGI, which lacks draft models"
    for engine in served:
        assert "TARGET" in by_engine[engine]["command"]
        assert "DRAFT" in by_engine[engine]["command"]
        assert by_engine[engine]["warning"].endswith("TARGET and DRAFT stand for the names of your own models.")
        assert "toy" not in by_engine[engine]["command"]
    assert "TARGET.gguf" in by_engine["llama.cpp"]["command"]
    plain = flags("toy/target", "toy/draft", "draft-model", 0, embedded=True).rows[1]
    assert (plain["command"], plain["warning"]) == (
        "vllm serve TARGET", "TARGET stands for the name of your own model."
    )  # fmt: skip
    source.pair = None  # a folder of one's own
    assert "toy/target" in sweep_report({4: lane}, lane).table("flags").rows[0]["command"]


def test_the_report_of_a_sweep_holds_what_its_sentences_rest_on():
    texts = [
        (kind, stretches(50, i, easy, easy / 2)) for i in range(4) for kind, easy in (("edit", 0.95), ("prose", 0.4))
    ]
    lanes = {g: [decode(t, g, prompt=f"p{i}", kind=k) for i, (k, t) in enumerate(texts)] for g in (2, 4)}
    report = sweep_report(lanes, lanes[4], gammas=(1, 2, 4))
    assert [t.key for t in report.tables] == [
        "sweep", "kinds", "acceptance", "costs", "waterfall", "policies", "flags"
    ]  # fmt: skip
    assert report.sentences[0].startswith(("Use gamma", "Do not", "Speculation", "Cannot tell"))
    by_kind = best_by_kind(lanes[4], fit_costs(lanes[4]).model, (1, 2, 4))
    assert report.sentences[1] == kinds_sentence(by_kind, choose(report.table("sweep")))
    assert len(report.provenance) == 1
    assert "draft" in report.table("flags").rows[0]["command"]
    report_json(report)
    best_measured = max((2, 4), key=lambda g: {row["gamma"]: row for row in report.table("sweep").rows}[g]["measured"])
    assert report.sentences[0].startswith(f"Use gamma {best_measured}: ")
    assert f"gamma {best_measured}" in report.table("flags").title
    one = [d for d in lanes[4] if d.kind == "edit"]
    assert "kinds" not in [t.key for t in sweep_report({4: one}, one).tables]
