import { OnnxEngine } from '#root'

/** Program that quantises a run directory, and kills itself, as with `kill -9`, at this progress. */
const [runDirectory = '', cacheDirectory = '', progress = ''] = process.argv.slice(2)
await new OnnxEngine({ cacheDirectory, threads: 1 }).load({
  runDirectory,
  quantization: 'q8',
  onProgress(fraction, step) {
    if (step === 'quantising the weights' && fraction >= Number(progress)) process.kill(process.pid, 'SIGKILL')
  }
})
