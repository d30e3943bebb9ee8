# SPDX-License-Identifier: Apache-2.0
"""Makes sentencepiece.json, two small tokenizers as of T5 and Llama 2, sentencepiece.txt, sentencepiece_ref.npz and
special_ref.npz: its tokens by Hugging Face's tokenizers, without and with special ones around documents.

    python test/refs/make_sentencepiece.py      (needs the packages tokenizers, sentencepiece and numpy)

forms() makes of the two what other models have, which the test does, too. The charsmap is SentencePiece's, of some rules of
its nmt_nfkc, and of sequences that begin with each other.
"""

import copy
import io
import json
import os
import tempfile
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
META = "\u2581"
SPACES = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": META}


def metaspace(scheme="always", split=True):
    return {"type": "Metaspace", "replacement": META, "prepend_scheme": scheme, "split": split}


def forms(both):
    """{name: tokenizer.json}"""
    result = {}

    def form(name, base, **fields):
        result[name] = dict(copy.deepcopy(both[base]), **fields)
        return result[name]

    charsmap = both["unigram"]["normalizer"]
    form("t5", "unigram", pre_tokenizer=metaspace())
    form("t5_new", "unigram", normalizer={"type": "Sequence", "normalizers": [charsmap, {"type": "Strip", "strip_left": False, "strip_right": True}, SPACES]},
         pre_tokenizer=metaspace("first"))
    form("xlmr", "unigram", pre_tokenizer={"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": META, "str_rep": META, "add_prefix_space": True}]})
    form("quotes", "unigram", normalizer={"type": "Sequence", "normalizers": [
        {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Replace", "pattern": {"String": "``"}, "content": '"'}, charsmap]},
        pre_tokenizer=metaspace("first"))
    form("albert", "unigram", normalizer={"type": "Sequence", "normalizers": [
        *({"type": "Replace", "pattern": {"String": quote}, "content": '"'} for quote in ("``", "''")), {"type": "NFKD"}, {"type": "StripAccents"},
        {"type": "Lowercase"}, charsmap]}, pre_tokenizer=metaspace())
    form("whole", "unigram", normalizer=charsmap, pre_tokenizer=metaspace("never", False))
    more = form("bytes", "unigram", pre_tokenizer=metaspace())
    more["model"].update(byte_fallback=True, vocab=more["model"]["vocab"] + [[f"<0x{b:02X}>", -12.0] for b in range(256)])
    for token in more["added_tokens"]:
        token["id"] += 256 if token["id"] >= len(both["unigram"]["model"]["vocab"]) else 0
    blanks = {"type": "Replace", "pattern": {"String": " "}, "content": META}
    form("llama2", "bpe", normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": META}, blanks]}, pre_tokenizer=None)
    form("mistral", "bpe", normalizer=None, pre_tokenizer=metaspace("first", False))
    form("gemma", "bpe", normalizer=blanks, pre_tokenizer={"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False})
    form("split", "bpe", normalizer=None, pre_tokenizer=metaspace("never"))["model"].update(ignore_merges=True)
    some = form("unknown", "bpe", normalizer=blanks, pre_tokenizer=None)["model"]
    some["vocab"] = {text + "-" * (text in ("<0xC3>", "<0xE6>", "<0xF0>")): i for text, i in some["vocab"].items()}
    form("apart", "bpe", normalizer=blanks, pre_tokenizer=None)["model"].update(byte_fallback=False, fuse_unk=False)
    form("none", "bpe", normalizer=blanks, pre_tokenizer=None)["model"].update(byte_fallback=False, unk_token=None)
    return result


def special_forms(both):
    """{name: tokenizer.json}, of those that put tokens around a document"""
    t5, llama2 = forms(both)["t5"], forms(both)["llama2"]
    ids = {t["content"]: t["id"] for t in t5["added_tokens"]} | {"<s>": 1}

    def token(name):
        return {"SpecialToken": {"id": name, "type_id": 0}}

    def template(before, after):
        text, names = {"Sequence": {"id": "A", "type_id": 0}}, {*before, *after}
        return {"type": "TemplateProcessing", "single": [*map(token, before), text, *map(token, after)], "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {name: {"id": name, "ids": [ids[name]] * (1 + (name == "<mask>")), "tokens": [name] * (1 + (name == "<mask>"))} for name in names}}

    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    ends = {"sep": ["</s>", ids["</s>"]], "cls": ["<s>", 1]}
    return {"t5": dict(t5, post_processor=template([], ["</s>"])), "llama2": dict(llama2, post_processor=template(["<s>"], [])),
            "both": dict(t5, post_processor={"type": "Sequence", "processors": [byte_level, template(["<s>", "<mask>"], ["</s>", "</s>"])]}),
            "bert": dict(t5, post_processor=ends | {"type": "BertProcessing"}),
            "roberta": dict(llama2, post_processor=ends | {"type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": True})}


def make_text():
    lines = ["It's what we've seen: they're here, the cat sat on the mat; the rest is the same.", "  two  blanks   three\t\ttabs \r\n\r\n \x0b end ",
             "Numbers 1 12 123 1234 3.14159 1,000,000 ½ ² Ⅷ ٣٤ 十二", "ÄÖÜ äöüß naïve café cafe\u0301 E\u0301e\u0323\u0301 n\u0303\u0303 Việt Nam ﬁn ﬃ ﬁ\u0301 ǆ", "Ελληνικά Русский язык Ё е\u0308",
             "עִבְרִית العربيّة \u0600\u0661 हिन्दी क्षत्रिय क\u0301 क्क\u0301 ไทยน้ำ தமிழ்", "日本語のテキスト がか\u3099 ｶﾞｶ 中文字符 豈 漢字\u3000。 한국어 각 가\u11a8 \u1112\u1161\u11ab\u0301",
             "emoji 😀👍🏽👨‍👩‍👧‍👦 🇩🇪🇩 ☺️ ©\u0301 ©\u200d©\u0301 1️⃣", "a\u00a0b\u2003c\u2028d\u200be\ufefff\x00g\x07h\x85i\ufffdj\u00adk\u0301\u0302l\u200d\u200dm", "“quotes” … ``q'' €5 ™ ① ㎏ ℃ ～ ~ ▁x ▁▁ y▁z <unk> <s> </s>",
             "one<mask> two   <mask>  three<mask><end>four <end> <endfive", "L" + "o" * 200 + "ng " + " " * 70 + "x", "under_score camelCase a.b@c.de https://x.org/?q=1&r=%20 \\n", "<0x0A> <0xE6> qzqzq \U00020000\U0002f800\U000e0041"]
    return "\n".join(lines) + "\n" + "the cat sat on the mat and ran to the other cats " * 10 + "\n \n"


def rules(text):
    """{what: by}"""
    found = {c: unicodedata.normalize("NFKC", c) for c in text if unicodedata.normalize("NFKC", c) != c}
    found.update({c: " " for c in "\t\n\r\u00a0\u2003\u2028\u200b\ufeff\x85"})
    found.update({c: "" for c in "\x07\x0b\u00ad"})
    for pair in ("e\u0301", "E\u0301", "n\u0303", "か\u3099", "ｶﾞ", "е\u0308", "가\u11a8", "க\u0bcd"):
        found[pair] = unicodedata.normalize("NFKC", pair)
    found["ﬃ"] = "f f i"
    return {what: by for what, by in found.items() if "\0" not in what and what != by}


def fields(message):
    """[number, bytes] of a message of protocol buffers."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        size = {0: None, 1: 8, 5: 4}.get(key & 7, 0)
        if size is None:
            varint()
            continue
        size = size or varint()
        yield key >> 3, message[at:at + size]
        at += size


def make_charsmap(text):
    import sentencepiece

    model = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        for what, by in rules(text).items():
            file.write("\t".join(" ".join(f"{ord(c):X}" for c in part) for part in (what, by)) + "\n")
        file.flush()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["the cat sat on the mat"] * 50), model_writer=model, vocab_size=16,
                                                 normalization_rule_tsv=file.name, minloglevel=2, hard_vocab_limit=False)
    spec = dict(fields(model.getvalue()))[3]
    return dict(fields(spec))[2]


def main():
    import numpy as np
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, trainers

    text = make_text()
    unigram = Tokenizer(models.Unigram())
    unigram.normalizer = normalizers.Precompiled(make_charsmap(text))
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.train_from_iterator(text.split("\n")[:7] + text.split("\n")[-3:], trainers.UnigramTrainer(vocab_size=250, special_tokens=["<pad>", "<unk>"], unk_token="<unk>", show_progress=False))
    bpe = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    bpe.normalizer = normalizers.Replace(" ", META)
    bpe.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    bpe.train_from_iterator([text.replace("\n", " ")], trainers.BpeTrainer(vocab_size=520, show_progress=False, limit_alphabet=70,
                                                                           special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]))
    both = {}
    for name, tokenizer in ("unigram", unigram), ("bpe", bpe):
        tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("</s>")])
        tokenizer.add_tokens([AddedToken("<end>", rstrip=True, normalized=True)])
        both[name] = json.loads(tokenizer.to_str())
        both[name]["decoder"] = None
    # As converters write it: a token has a merge for each two that it is made of.
    model = both["bpe"]["model"]
    vocabulary = model["vocab"]
    both["bpe"]["added_tokens"] = [t for t in both["bpe"]["added_tokens"] if not t["content"].startswith("<0x")]
    order = {}
    for rank, merge in enumerate(model["merges"]):
        order.setdefault("".join(merge), rank)
    model["merges"] = [[text[:i], text[i:]] for text in sorted(order, key=order.get) for i in range(1, len(text)) if text[:i] in vocabulary and text[i:] in vocabulary]
    with open(os.path.join(HERE, "sentencepiece.json"), "w") as file:
        json.dump(both, file, separators=(",", ":"), ensure_ascii=False)
        file.write("\n")
    with open(os.path.join(HERE, "sentencepiece.txt"), "w", newline="") as file:
        file.write(text)
    refs = {name: np.array(Tokenizer.from_str(json.dumps(form)).encode(text, add_special_tokens=False).ids, np.uint32) for name, form in forms(both).items()}
    np.savez_compressed(os.path.join(HERE, "sentencepiece_ref.npz"), **refs)
    special = {}
    for name, form in special_forms(both).items():
        tokenizer = Tokenizer.from_str(json.dumps(form))
        lines = [line for line in text.replace("\r\n", "\n").split("\n") if line]
        for kind, documents in ("file", [text]), ("line", lines):
            special[f"{name} {kind}"] = np.array([i for d in documents for i in tokenizer.encode(d, add_special_tokens=True).ids], np.uint32)
    np.savez_compressed(os.path.join(HERE, "special_ref.npz"), **special)
    for name, ids in (refs | special).items():
        print(name, len(ids))


if __name__ == "__main__":
    main()
