/**
 * A network by each contestant, for bench/web_peers.py: each is an async function that returns {run(n): the logits of n
 * images, train(batch, steps) or null, adapter}. TensorFlow.js has the network of `flambeau mnist` alone.
 */

const { image: IMAGE } = await (await fetch("/network.json")).json(), SIDE = 28, CLASSES = 10; // the shape of an image

/** The same images for everybody. */
export function images(n) {
  const out = new Float32Array(IMAGE.reduce((a, b) => a * b, n));
  for (let i = 0; i < out.length; i++) out[i] = ((i * 7919) % 256) / 255 - 0.13;
  return out;
}

function nameOf(device) {
  const { description, vendor, architecture } = device?.adapterInfo ?? {};
  return description || [vendor, architecture].filter(Boolean).join(" ") || "an adapter that it does not tell";
}

async function weights() {
  const buffer = await (await fetch("/network/weights.safetensors")).arrayBuffer();
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  return Object.fromEntries(Object.entries(header).filter(([name]) => name !== "__metadata__").map(
    ([name, { shape, data_offsets: [from, to] }]) => [name, {
      shape, data: new Float32Array(buffer.slice(8 + length + from, 8 + length + to)) }]));
}

export async function flambeau() {
  const { load } = await import("/network/index.js"), model = await load();
  return { adapter: model.adapter, train: null, run: async (n) => (await model.run({ x: images(n) })).data };
}

export async function onnxruntime() {
  const ort = await import("/npm/onnxruntime-web/dist/ort.webgpu.bundle.min.mjs");
  ort.env.wasm.wasmPaths = "/npm/onnxruntime-web/dist/";
  ort.env.wasm.numThreads = 1;
  const session = await ort.InferenceSession.create("/network.onnx", { executionProviders: ["webgpu"] });
  const run = async (n) => {
    const x = new ort.Tensor("float32", images(n), [n, ...IMAGE]);
    return (await session.run({ [session.inputNames[0]]: x }))[session.outputNames[0]].getData();
  };
  return { adapter: nameOf(await ort.env.webgpu.device), train: null, run };
}

function script(url) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement("script"), { src: url, onload: resolve });
    element.onerror = () => reject(new Error(`${url} can't be loaded`));
    document.head.append(element);
  });
}

export async function tensorflow() {
  await script("/npm/@tensorflow/tfjs/dist/tf.min.js");
  await script("/npm/@tensorflow/tfjs-backend-webgpu/dist/tf-backend-webgpu.min.js");
  const { tf } = globalThis;
  if (!(await tf.setBackend("webgpu"))) throw new Error("TensorFlow.js finds no WebGPU");
  await tf.ready();
  const given = await weights(), variable = (name, order) => {
    const { data, shape } = given[name], value = tf.tensor(data, shape);
    return tf.variable(order ? tf.transpose(value, order) : value);
  };
  const [w0, w3] = ["0.weight", "3.weight"].map((name) => variable(name, [2, 3, 1, 0])); // to height, width, in, out
  const [b0, b3, b7] = ["0.bias", "3.bias", "7.bias"].map((name) => variable(name));
  const w7 = variable("7.weight", [1, 0]);
  const logits = (x) => {
    const layer = (h, w, b) => tf.maxPool(tf.relu(tf.add(tf.conv2d(h, w, 1, "valid"), b)), 2, 2, "valid");
    const h = layer(layer(x, w0, b0), w3, b3); // [n, 4, 4, 16]
    return tf.add(tf.matMul(tf.reshape(tf.transpose(h, [0, 3, 1, 2]), [-1, 256]), w7), b7);
  };
  const input = (n) => tf.tensor(images(n), [n, SIDE, SIDE, 1]); // one channel lies the same way in both orders
  const run = async (n) => {
    const y = tf.tidy(() => logits(input(n))), data = await y.data();
    y.dispose();
    return data;
  };
  const optimizer = tf.train.adam(1e-3);
  const train = async (batch, steps) => {
    const x = input(batch), y = tf.oneHot(tf.range(0, batch, 1, "int32").mod(tf.scalar(CLASSES, "int32")), CLASSES);
    let loss = null;
    for (let i = 0; i < steps; i++) {
      loss?.dispose();
      loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, logits(x)), true);
    }
    await loss.data();
    tf.dispose([x, y, loss]);
  };
  return { adapter: nameOf(tf.backend().device), train, run };
}

/** Seconds of each call, made one after the other for at least `seconds`. */
export async function times(call, seconds) {
  const out = [], end = performance.now() + 1000 * seconds;
  do {
    const begin = performance.now();
    await call();
    out.push((performance.now() - begin) / 1000);
  } while (performance.now() < end);
  return out;
}
