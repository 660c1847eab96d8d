import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { onnxRuntimeFolder, onnxRuntimePackage } from '@svc/contracts'

/** Returns a `require` that resolves packages as this plugin does, from sources or from a bundle. */
export function ownRequire(): NodeJS.Require {
  return createRequire(import.meta.url)
}

/** Returns the path of ONNX Runtime's shared library for this machine. Throws if it is not installed. */
export function findLibrary(require: NodeJS.Require): string {
  const folder = onnxRuntimeFolder(require)
  const name = readdirSync(folder).find(file => /^(lib)?onnxruntime(\.so\.1|\.1\.dylib|\.dll)$/.test(file))
  if (name === undefined) throw new Error(`${folder} contains no ONNX Runtime library`)
  return join(folder, name)
}

/** Returns the version of the installed ONNX Runtime without loading it; `missing` if there is none. */
export function packageVersion(require: NodeJS.Require): string {
  try {
    return (require(`${onnxRuntimePackage(require)}/package.json`) as { version: string }).version
  } catch {
    return 'missing'
  }
}
