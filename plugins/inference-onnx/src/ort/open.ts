import { disableOnnxTelemetry, onnxRuntimePackage } from '@svc/contracts'
import { inferenceErrors } from '../errors.ts'
import { type Koffi, OrtApi } from './api.ts'
import { findLibrary, packageVersion } from './library.ts'
import { NativeRuntime } from './native-runtime.ts'
import type { Runtime } from './runtime.ts'
import { WorkerRuntime } from './worker-runtime.ts'

/** Way to call ONNX Runtime. `auto` is `native`, or `worker` if that cannot be loaded. */
export type RuntimeKind = 'auto' | 'native' | 'worker'

/**
 * Opens ONNX Runtime; the first call loads it.
 *
 * `require` resolves its packages. Throws `INF_RUNTIME_UNAVAILABLE`.
 */
export function openRuntime(kind: RuntimeKind, require: NodeJS.Require, onFallback: (reason: Error) => void): Runtime {
  disableOnnxTelemetry()
  if (kind !== 'worker') {
    try {
      return new NativeRuntime(new OrtApi(require('koffi') as Koffi, findLibrary(require)))
    } catch (error) {
      if (kind === 'native') throw unavailable(error as Error)
      onFallback(error as Error)
    }
  }
  try {
    return new WorkerRuntime(require.resolve(onnxRuntimePackage(require)), packageVersion(require))
  } catch (error) {
    throw unavailable(error as Error)
  }
}

function unavailable(cause: Error) {
  return inferenceErrors.create('INF_RUNTIME_UNAVAILABLE', `ONNX Runtime could not be loaded: ${cause.message}`, {
    cause,
    hint: 'Run npm install without --omit=optional: koffi and ONNX Runtime have a package for each platform.'
  })
}
