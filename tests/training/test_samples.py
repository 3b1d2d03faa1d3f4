"""What the target writes for the draft to learn from."""

import torch

from specviz.training.family import new_model, tiny_config
from specviz.training.samples import continue_prompts, join_parts


def test_cold_samples_are_the_arg_max_of_a_full_forward_pass():
    model = new_model(tiny_config(2, vocab_size=320, hidden=128), seed=0)
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    prompts = torch.randint(320, (3, 7))
    rows = continue_prompts(model, prompts, new=9, temperature=1e-6)
    assert rows.shape == (3, 16)
    assert torch.equal(rows[:, :7], prompts)
    with torch.no_grad():
        best = model(rows).logits[:, 6:-1].argmax(-1)
    assert torch.equal(rows[:, 7:], best)


def test_parts_are_joined_in_the_order_of_the_ranks(tmp_path):
    (tmp_path / "samples-1.part").write_bytes(b"cd")
    (tmp_path / "samples-0.part").write_bytes(b"ab")
    join_parts(tmp_path, tmp_path / "samples.bin")
    assert (tmp_path / "samples.bin").read_bytes() == b"abcd"
    assert not list(tmp_path.glob("*.part"))
