import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Returns a `require` that resolves packages as this plugin does, from sources or from a bundle. */
export function ownRequire(): NodeJS.Require {
  return createRequire(import.meta.url)
}

/** Returns the path of the shared library in the onnxruntime-node package. Throws if it has none for this machine. */
export function findLibrary(require: NodeJS.Require): string {
  const root = dirname(require.resolve('onnxruntime-node/package.json'))
  const folder = join(root, 'bin', 'napi-v6', process.platform, process.arch)
  const name = readdirSync(folder).find(file => /^(lib)?onnxruntime(\.so\.1|\.1\.dylib|\.dll)$/.test(file))
  if (name === undefined) throw new Error(`${folder} contains no ONNX Runtime library`)
  return join(folder, name)
}

/** Returns the version of the onnxruntime-node package without loading it; `missing` if it is not installed. */
export function packageVersion(require: NodeJS.Require): string {
  try {
    return (require('onnxruntime-node/package.json') as { version: string }).version
  } catch {
    return 'missing'
  }
}
