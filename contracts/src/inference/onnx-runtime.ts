import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Platforms for which onnxruntime-node has a library, as `os-arch`. */
export const ONNX_RUNTIME_PLATFORMS = ['darwin-arm64', 'linux-arm64', 'linux-x64', 'win32-arm64', 'win32-x64'] as const

/**
 * Returns the package with ONNX Runtime for this machine: the package of this platform only, which releases depend on,
 * or else onnxruntime-node, which holds the libraries of all platforms. Both have the same files.
 *
 * Throws `MODULE_NOT_FOUND` if neither is installed.
 */
export function onnxRuntimePackage(require: NodeJS.Require): string {
  const own = `@svc/onnxruntime-${process.platform}-${process.arch}`
  try {
    require.resolve(`${own}/package.json`)
    return own
  } catch {
    require.resolve('onnxruntime-node/package.json')
    return 'onnxruntime-node'
  }
}

/**
 * Stops ONNX Runtime from sending usage data to its vendor, which it does by default on Linux and macOS.
 *
 * Must be called in the main thread before the library is loaded: the library reads the variable once, and a worker changes
 * only its copy of the environment. A value that the user has set is kept.
 */
export function disableOnnxTelemetry(): void {
  process.env.ORT_DISABLE_TELEMETRY ??= '1'
}

/** Returns the folder of ONNX Runtime's native files for this machine. Throws if the package or the folder is missing. */
export function onnxRuntimeFolder(require: NodeJS.Require): string {
  const root = dirname(require.resolve(`${onnxRuntimePackage(require)}/package.json`))
  const folder = join(root, 'bin', 'napi-v6', process.platform, process.arch)
  if (existsSync(folder)) return folder
  throw new Error(`${root} contains no ONNX Runtime for ${process.platform} on ${process.arch}`)
}
