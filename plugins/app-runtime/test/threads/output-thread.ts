import { parentPort, workerData } from 'node:worker_threads'
import { OutputGate } from '#threads'

// Sends texts of the given lengths, each after the gate lets it.
const { load, lengths } = workerData as { readonly load: Int32Array; readonly lengths: readonly number[] }
const gate = new OutputGate(load)
for (const length of lengths) {
  const line = { text: 'x'.repeat(length) }
  parentPort?.postMessage(line)
  gate.sent(line)
}
