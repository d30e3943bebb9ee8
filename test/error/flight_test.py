# SPDX-License-Identifier: Apache-2.0
"""dlc debug flight: the first collective in which ranks disagree, from files made by hand."""

import json
import os

import dlc

DEEP = 100000


def call(sequence, operation="all_reduce", state="done", channel=0, bytes=400, subject=0, begin=None):
    begin = 1000.0 + sequence if begin is None else begin
    return dict(channel=channel, sequence=sequence, step=sequence // 2, operation=operation, bytes=bytes,
                subject=subject, begin=begin, end=None if state == "waits" else begin + 0.5, state=state)


def flight(rank, collectives, ranks=3, begun=None, **other):
    return dict(format="dlc-flight", version=1, rank=rank, ranks=ranks, host=f"host{rank}", step=5, error="",
                written=2000.0, begun=len(collectives) if begun is None else begun,
                subjects=[dict(bucket=4, nodes="/a; /b")], collectives=collectives) | other


class Flight(dlc.TestCase):
    def write(self, content):
        path = self.path(f"flight-{len(os.listdir(self.folder))}.json")
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    def compare(self, *flights):
        files = [self.write(f) for f in flights]
        out, _ = dlc.dlc("debug", "flight", *files, "--json")
        text, _ = dlc.dlc("debug", "flight", *files)
        return json.loads(out), text

    def test_all_agree(self):
        found, text = self.compare(*(flight(r, [call(i) for i in range(5)]) for r in range(3)))
        self.assertEqual(found["finding"], "same")
        self.assertIn("the ranks agree", text)

    def test_one_is_missing(self):
        waits = [call(i) for i in range(5)] + [call(5, state="failed")]
        found, text = self.compare(flight(0, waits, error="rank 2 does not answer"), flight(2, waits[:5]), flight(1, waits))
        self.assertEqual((found["finding"], found["sequence"], found["missing"], found["waiting"]),
                         ("missing", 5, [2], [0, 1]))
        self.assertIn("collective 5: all_reduce of bucket 4, 400 bytes, step 2: rank 2 did not begin it", text)
        self.assertIn("gradients of /a; /b", text)
        self.assertIn("rank 2 (host2): its last is collective 4, all_reduce of bucket 4, 400 bytes, step 2", text)
        self.assertIn("ranks 0, 1 waited for rank 2", text)
        self.assertIn("it ended with: rank 2 does not answer", text)

    def test_one_did_nothing(self):
        found, text = self.compare(flight(0, [call(0, state="waits")], ranks=2), flight(1, [], ranks=2))
        self.assertEqual((found["finding"], found["missing"]), ("missing", [1]))
        self.assertIn("rank 1 (host1): nothing is known of it", text)

    def test_one_left_no_file(self):
        found, text = self.compare(*(flight(r, [call(0), call(1, state="failed")]) for r in (0, 2)))
        self.assertEqual((found["finding"], found["sequence"], found["no_file"]), ("unfinished", 1, [1]))
        self.assertIn("ranks 0, 2 waited for rank 1", text)

    def test_they_differ(self):
        """In what, and the first only: what comes after follows from it."""
        same = [call(0), call(1)]
        others = dict(operation=call(2, operation="barrier"), bytes=call(2, bytes=404),
                      bucket=call(2, subject=None))
        for name, other in others.items():
            with self.subTest(name):
                found, text = self.compare(flight(0, same + [call(2), call(3)], ranks=2),
                                           flight(1, same + [other, call(3, bytes=1)], ranks=2))
                self.assertEqual((found["finding"], found["sequence"]), ("differs", 2))
                self.assertIn("collective 2: ranks run different collectives", text)
        _, text = self.compare(flight(0, same, ranks=2), flight(1, [call(0), call(1, "barrier", bytes=0, subject=None)], ranks=2))
        self.assertIn("rank 1 (host1): barrier, 0 bytes, step 0, began 00:16:41.000, ended after 0.500 s", text)

    def test_a_thousand_ranks(self):
        """A file for each host, a line for each of its ranks; what is told of many is told once."""
        calls = [call(i) for i in range(4)]
        files = []
        for host in range(128):
            lines = [flight(rank, calls + [call(4, state="failed", begin=1004 + rank / 1e4)] * (rank != 517), ranks=1024,
                            host=f"node{host}", error="" if rank == 517 else "rank 517 does not answer (its host: node64)")
                     for rank in range(8 * host, 8 * host + 8)]
            files.append(self.write("".join(json.dumps(line) + "\n" for line in lines).encode()))
        out, _ = dlc.dlc("debug", "flight", *files, timeout=60)
        self.assertEqual(out.splitlines(), [
            "collective 4: all_reduce of bucket 4, 400 bytes, step 2: rank 517 did not begin it", "  gradients of /a; /b",
            "  ranks 0-516, 518-1023 (128 hosts): all_reduce of bucket 4, 400 bytes, step 2, began 00:16:44.000 to 00:16:44.102, "
            "failed after 0.500 s", "    they ended with: rank 517 does not answer (its host: node64)",
            "  rank 517 (node64): its last is collective 3, all_reduce of bucket 4, 400 bytes, step 1, began 00:16:43.000, "
            "ended after 0.500 s", "ranks 0-516, 518-1023 waited for rank 517, since 00:16:44.000"])
        found = json.loads(dlc.dlc("debug", "flight", *files, "--json", timeout=60)[0])
        self.assertEqual((found["missing"], len(found["waiting"]), len(found["by_rank"])), ([517], 1023, 1024))

    def test_lines(self):
        """Of a rank the last one counts; what a killed rank has not completed is left out."""
        one, two = json.dumps(flight(0, [call(0)], ranks=2)), json.dumps(flight(1, [call(0)], ranks=2))
        path = self.write(f"{json.dumps(flight(0, [], ranks=2))}\n{one}\n{two[:99]}".encode())
        out, err = dlc.dlc("debug", "flight", path)
        self.assertIn("no record of rank 1", out)
        self.assertIn("ends with an incomplete record, which is left out", err)
        self.refuse(f"{one}\n{two[:99]}\n".encode(), "line 2")

    def test_what_was_dropped_is_not_missing(self):
        """Each keeps its last; a slow rank's may begin earlier."""
        ahead = flight(0, [call(i) for i in range(3000, 5000)] + [], ranks=2, begun=5000)
        behind = flight(1, [call(i) for i in range(2999, 4999)], ranks=2, begun=4999)
        found, _ = self.compare(ahead, behind)
        self.assertEqual((found["finding"], found["sequence"], found["missing"]), ("missing", 4999, [1]))

    def test_the_first_of_several_channels(self):
        found, _ = self.compare(flight(0, [call(0), call(0, channel=1, begin=900.0, state="waits")], ranks=2),
                                flight(1, [call(0, bytes=8)], ranks=2))
        self.assertEqual((found["channel"], found["finding"]), (1, "missing"))

    def refuse(self, content, message, code=dlc.CORRUPT):
        files = content if isinstance(content, list) else [content]
        out, err = dlc.dlc("debug", "flight", *map(self.write, files), code=code, timeout=20)
        self.assertRegex(err, message)
        self.assertEqual(out, "")
        self.assertNotIn("\x1b", err)

    def test_hostile_files(self):
        whole = flight(0, [call(0)])
        text = json.dumps(whole).encode()
        for cut in 0, 1, len(text) // 2, len(text) - 1:
            self.refuse(text[:cut], "flight-")
        for key, value, message in (
                ("format", "\x1b[2J", "expected 'dlc-flight'"), ("version", 2, "version 2"), ("version", "1", "version"),
                ("rank", 3, "rank 3 of 3"), ("rank", -1, "rank"), ("rank", 1.5, "rank"), ("ranks", 1 << 40, "ranks"),
                ("host", 7, "host"), ("error", None, "error"), ("begun", [], "begun"), ("subjects", {}, "'subjects' is no list"),
                ("subjects", [7], "a subject is no object"), ("subjects", [{}], "bucket"), ("subjects", [], "collective 0: 'subject' is 0 of 0"),
                ("collectives", None, "'collectives' is no list"), ("collectives", ["x"], "collective 0: it is no object"),
                ("collectives", [call(0), call(0)], "has collective 0 of channel 0 twice")):
            with self.subTest(key=key, value=value):
                self.refuse(whole | {key: value}, message)
        for key, value, message in (("state", "lost", "'state' is 'lost'"), ("begin", None, "'begin' is null"),
                                    ("begin", "now", "'begin' is neither"), ("begin", 1e300, "seconds since 1970"),
                                    ("sequence", -1, "sequence"), ("bytes", 1 << 63, "bytes"), ("end", [], "'end' is neither"),
                                    ("channel", {}, "channel"), ("operation", 5, "operation"), ("step", None, "step")):
            with self.subTest(key=key, value=value):
                self.refuse(flight(0, [call(0) | {key: value}]), "collective 0: .*" + message)
        for name, content in dict(null=b"null", list=b"[]", deep=b"[" * DEEP, twice=b'{"a":1,"a":2}', binary=bytes(range(256))).items():
            with self.subTest(name):
                self.refuse(content, "flight-")
        self.refuse(b" " * ((16 << 20) + 1), "16777216", dlc.LIMIT)

    def test_files_of_different_jobs(self):
        one = flight(0, [call(0)])
        self.refuse([one, one], "both of rank 0", dlc.FAILED)
        self.refuse([one, flight(1, [], ranks=2)], "of a job of 3 ranks.*of one of 2", dlc.FAILED)

    def test_no_file(self):
        _, err = dlc.dlc("debug", "flight", code=dlc.USAGE)
        self.assertIn("expected FILES, as in: dlc debug flight", err)
        _, err = dlc.dlc("debug", "flight", self.path("none"), code=dlc.FAILED)
        self.assertIn("none", err)

    def test_many_collectives(self):
        """Takes linear time."""
        many = [flight(r, [call(i) for i in range(20000)]) for r in range(3)]
        files = [self.write(f) for f in many]
        out, _ = dlc.dlc("debug", "flight", *files, timeout=20)
        self.assertIn("the ranks agree", out)


if __name__ == "__main__":
    dlc.main()
