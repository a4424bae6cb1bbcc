"""Makes canonical.json: the canonical form of JSON objects by an implementation that shares nothing with ours.

Object names are ordered by their UTF-16 code units, strings are written as RFC 8785 says, and numbers keep the
digits they were written with.
"""
import hashlib
import json
import pathlib


class Number(str):
    pass


def canonical(v):
    if isinstance(v, Number):
        return str(v)
    if isinstance(v, str):
        return json.dumps(v, ensure_ascii=False)
    if v is None or isinstance(v, bool):
        return json.dumps(v)
    if isinstance(v, list):
        return "[" + ",".join(canonical(i) for i in v) + "]"
    names = sorted(v, key=lambda n: n.encode("utf-16-be"))
    return "{" + ",".join(canonical(n) + ":" + canonical(v[n]) for n in names) + "}"


inputs = [
    '{}',
    '{"b":1,"a":2,"":3}',
    '{"text":"<b>Q&A</b>","line":"\\u2028\\u2029","face":"\\ud83d\\ude00"}',
    '{"\\uff5e":1,"\\ud83d\\ude00":2,"z":3,"\\u00e9":4}',
    '{"id":9007199254740993,"next":9007199254740992,"price":19.90,"same":19.9,"zero":0,"minus":-0.50}',
    '{"ctl":"\\u0000\\u0001\\b\\t\\n\\f\\r\\u001f\\u007f","q":"\\"\\\\\\/"}',
    '{"steps":[{"b":2,"a":1},{"a":3},[],{}],"none":null,"yes":true,"no":false}',
    '{"numbers":{"10":1,"9":2,"1":3},"\\u4f60\\u597d":"\\u4e16\\u754c"}',
    '{"a":{"\\ufb33":1,"\\ud83d\\ude02":2,"\\u20ac":3,"\\r":4,"1":5,"\\u0080":6,"\\u00f6":7,"<":8}}',
]
out = []
for text in inputs:
    form = canonical(json.loads(text, parse_int=Number, parse_float=Number))
    out.append({"Input": text, "Canonical": form, "SHA256": hashlib.sha256(form.encode()).hexdigest()})
pathlib.Path(__file__).with_name("canonical.json").write_text(json.dumps(out, indent=1) + "\n")
