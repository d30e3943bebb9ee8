# SPDX-License-Identifier: Apache-2.0
"""Makes tokenizer.json, a small byte-level BPE, tokenizer.txt, and tokenizer_ref.npz: its tokens by Hugging Face's tokenizers.

    python test/refs/make_tokenizer.py      (needs the packages tokenizers and numpy)

The file is as GPT-2's; forms() makes of it what Llama 3 and Qwen 2 have, which the test does, too.
"""

import copy
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")


def forms(gpt2):
    """{name: tokenizer.json}"""
    result = {"gpt2": gpt2}
    for name, regex in ("llama3", LLAMA3), ("qwen2", QWEN2):
        other = result[name] = copy.deepcopy(gpt2)
        other["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}
    result["llama3"]["model"]["ignore_merges"] = True
    result["llama3"]["model"]["merges"] = [m.split(" ") if isinstance(m, str) else m for m in gpt2["model"]["merges"]]
    result["qwen2"]["normalizer"] = {"type": "NFC"}
    return result


def make_text():
    pieces = ["It's what we've seen: they're here, I'll go, he'd say DON'T, WE'LL, IT'S! 'sup 'tis\n",
              "Numbers 1 12 123 1234 12345 3.14159 1,000,000 ½ ² Ⅷ ٣٤ 十二 x2y\n", "  two  blanks   three\t\ttabs \n \n\n  \r\n\r\n end \n",
              "ÄÖÜ äöüß naïve café Ελληνικά Русский язык עברית العربية हिन्दी ไทย 日本語のテキスト 中文字符 한국어 ﬁ ǆ\n",
              "emoji 😀👍🏽👨‍👩‍👧‍👦🇩🇪 — “quotes” … €5 £6 →↔ ∑∞≠ a\u00a0b\u2003c\u2028d\u3000e\x0bf\x85g\n",
              "def f(x):\n    return {'a': x[0]**2, \"b\": not x} # comment\n\n\tif x>=10: print('%d\\n' % x)\n",
              "<|endoftext|>A second<|end|>text<|endoftext|><|endoftext|> <|endof |<|endoftext\n", "'ſ 'S 's 'LL 'Re's'\u017f'T!!??...\n--- === ***\n\n!\n",
              "Looooooooooooooooooooooooong" + "o" * 200 + " " * 70 + "x\n", "under_score camelCase a.b@c.de https://x.org/?q=1&r=%20 \\n\n"]
    return "".join(pieces) + "the cat sat on the mat; the rest is the same " * 20 + " \n "


def main():
    import numpy as np
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    text = make_text()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator([text], trainers.BpeTrainer(vocab_size=500, special_tokens=["<|endoftext|>"], show_progress=False,
                                                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.add_tokens(["<|end|>"])
    gpt2 = json.loads(tokenizer.to_str())
    with open(os.path.join(HERE, "tokenizer.json"), "w") as file:
        json.dump(gpt2, file, indent=None, separators=(",", ":"))
        file.write("\n")
    with open(os.path.join(HERE, "tokenizer.txt"), "w", newline="") as file:
        file.write(text)
    np.savez_compressed(os.path.join(HERE, "tokenizer_ref.npz"), **{
        name: np.array(Tokenizer.from_str(json.dumps(form)).encode(text, add_special_tokens=False).ids, np.uint32) for name, form in forms(gpt2).items()})


if __name__ == "__main__":
    main()
