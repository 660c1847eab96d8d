/** Program that runs a session on WebGPU eight times, with captures and verbose logs of ONNX Runtime. */
import { OnnxGraph } from '#onnx'
import { DeviceRuntime, type ExecutionTarget, findLibrary, type Koffi, OrtApi, ownRequire, webgpuTarget } from '#ort'

const LOG_INFO = 1

const verbose: ExecutionTarget = {
  ...webgpuTarget,
  append(api, environment, options, capture) {
    webgpuTarget.append(api, environment, options, capture)
    api.call('SetSessionLogSeverityLevel', options, LOG_INFO)
  }
}
const graph = new OnnxGraph('increment')
graph.node('Add', [graph.input('x', 'float32', ['n']), graph.scalar('one', 1)], 'y')
graph.output('y', 'float32', ['n'])

const api = new OrtApi(ownRequire()('koffi') as Koffi, findLibrary(ownRequire()))
const runtime = await DeviceRuntime.open(api, verbose, { capture: true })
const session = await runtime.createSession({ model: graph.toBytes(), weights: null, threads: 1 })
const [x, y] = [runtime.host('float32', [3]), runtime.host('float32', [3])]
const binding = session.bind({ x }, { y }, { bounds: {} })
for (let run = 0; run < 8; run++) {
  x.data.fill(run)
  await binding.run()
  if (y.data.some(value => value !== run + 1)) throw new Error(`run ${run} returned ${y.data}`)
}
binding.release()
await session.close()
await runtime.close()
process.stdout.write('done\n')
