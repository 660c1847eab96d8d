import { OnnxEngine } from '../../src/engine.ts'

/** A process that is killed, as by `kill -9`, in the middle of quantising a run directory. */
const [runDirectory = '', cacheDirectory = ''] = process.argv.slice(2)
await new OnnxEngine({ cacheDirectory, threads: 1 }).load({
  runDirectory,
  quantization: 'q8',
  onProgress(fraction, step) {
    if (step === 'quantising the weights' && fraction > 0.55) process.kill(process.pid, 'SIGKILL')
  }
})
