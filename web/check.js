// @ts-check
/**
 * Looks at a browser before anything is downloaded: `const { obstacle, warning } = await check()`. The first says
 * what keeps a page from running, the second what makes it slow, each with what to do about it; "" where all is well.
 */
import { PORTABLE } from "./executor.js";

// [of the user agent, how to get WebGPU, how to get the GPU behind it]; in this order: Edge calls itself Chrome, and
// Chrome calls itself Safari
/** @type {[RegExp, string, string][]} */
const BROWSERS = [
  [/Firefox\//, "In Firefox, update to 141 or newer on Windows, to 145 on macOS; elsewhere set dom.webgpu.enabled and"
    + " gfx.webgpu.ignore-blocklist to true in about:config.",
    "In Firefox, turn on hardware acceleration under Settings, General, Performance, or set gfx.webgpu.ignore-blocklist"
    + " to true in about:config."],
  [/Edg\/|Chrom(e|ium)\//, "In Chrome and Edge, update to 121 or newer, and on Linux start with --enable-unsafe-webgpu"
    + " --enable-features=Vulkan.",
    "In Chrome and Edge, turn on graphics acceleration under Settings, System; on Linux start with"
    + " --enable-unsafe-webgpu --enable-features=Vulkan."],
  [/Safari\//, "In Safari, update to 26 or newer; before that, turn WebGPU on under Develop, Feature Flags.",
    "In Safari, turn WebGPU on under Develop, Feature Flags."],
];
const ANY = "Chrome, Edge, Firefox and Safari have it in their newest versions.";
const [GET, ACCELERATE] = [1, 2];

export async function check() {
  const obstacle = (text) => ({ obstacle: text, warning: "" });
  if (!globalThis.isSecureContext)
    return obstacle("WebGPU needs https or localhost: open this page by such an address.");
  if (!navigator.gpu) return obstacle(`This browser has no WebGPU. ${advice(GET)}`);
  let adapter = null;
  try {
    adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  } catch (error) {
    return obstacle(`WebGPU fails: ${error.message}. ${advice(ACCELERATE)}`);
  }
  if (!adapter) return obstacle(`WebGPU is available, but finds no GPU. ${advice(ACCELERATE)}`);
  const small = Object.keys(PORTABLE).filter((name) => adapter.limits[name] < PORTABLE[name]);
  if (small.length) {
    const told = small.map((name) => `${name} is ${adapter.limits[name]} and not ${PORTABLE[name]}`).join(", ");
    return obstacle(`This GPU is below WebGPU's own limits: ${told}. Update its driver.`);
  }
  if (typeof Worker !== "function") return obstacle("This browser runs no workers: allow scripts for this page.");
  const software = adapter.info?.isFallbackAdapter || adapter.info?.architecture === "swiftshader";
  return { obstacle: "", warning: software ? `Only a software adapter is there: it works, but slowly. ${advice(ACCELERATE)}` : "" };
}

function advice(which) {
  return BROWSERS.find(([known]) => known.test(navigator.userAgent))?.[which] ?? ANY;
}
