# Prints the errors that the models of AWS' services call retryable: the code, the HTTP status (`-` if the model names
# none), and whether the model says throttling. Only the newest version of each service counts.
import gzip, json, pathlib
import botocore

rows = set()
for service in (pathlib.Path(botocore.__file__).parent / "data").iterdir():
    versions = sorted(service.iterdir()) if service.is_dir() else []
    models = [path for version in versions[-1:] for path in version.glob("service-2.json*")]
    for model in models:
        text = model.read_bytes()
        text = gzip.decompress(text) if model.suffix == ".gz" else text
        if b'"retryable"' not in text:
            continue
        for name, shape in json.loads(text)["shapes"].items():
            if "retryable" not in shape:
                continue
            error = shape.get("error", {})
            says = "throttling" if shape["retryable"].get("throttling") else "retryable"
            rows.add((error.get("code", name), str(error.get("httpStatusCode", "-")), says))
for row in sorted(rows):
    print(*row)
