import { OnnxEngine } from '../../src/engine.ts'

/** A process that is killed, as by `kill -9`, while it quantises a run directory: once its load has come so far. */
const [runDirectory = '', cacheDirectory = '', progress = ''] = process.argv.slice(2)
await new OnnxEngine({ cacheDirectory, threads: 1 }).load({
  runDirectory,
  quantization: 'q8',
  onProgress(fraction, step) {
    if (step === 'quantising the weights' && fraction >= Number(progress)) process.kill(process.pid, 'SIGKILL')
  }
})
