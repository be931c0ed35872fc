// @ts-check
/** node compress.mjs QUALITY [IN OUT]...: turns files into their brotli forms, which servers send in their place. */
import { readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";

const [quality, ...paths] = process.argv.slice(2);
for (let i = 0; i < paths.length; i += 2) {
  const data = readFileSync(paths[i]);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: Number(quality),
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: data.length,
  };
  writeFileSync(paths[i + 1], brotliCompressSync(data, { params }));
}
