import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * Finds packages from this plugin's own folder. Its code may run as a bundle whose address says nothing, so the folder
 * is handed in.
 */
export function requireFrom(packageRoot: string): NodeJS.Require {
  return createRequire(join(packageRoot, 'package.json'))
}

/** Path of the shared library inside the onnxruntime-node package. Throws when it has none for this machine. */
export function findLibrary(require: NodeJS.Require): string {
  const root = dirname(require.resolve('onnxruntime-node/package.json'))
  const folder = join(root, 'bin', 'napi-v6', process.platform, process.arch)
  const name = readdirSync(folder).find(file => /^(lib)?onnxruntime(\.so\.1|\.1\.dylib|\.dll)$/.test(file))
  if (name === undefined) throw new Error(`${folder} holds no ONNX Runtime library`)
  return join(folder, name)
}
