import type { Koffi } from './api.ts'

/** Key of a flag on koffi's module object, which outlives reloads of the plugin. */
const SKIPS = Symbol.for('svc.inference-onnx.skips-exit-handlers')

/**
 * Makes this process end without the exit handlers that native libraries have registered so far. Those of ONNX Runtime's
 * bundled CUDA provider (1.30.0) crash after its sessions are closed, so that a command that succeeded ended with a
 * segmentation fault. Exit handlers run in reverse order: call this after the provider was loaded. Listeners of Node.js
 * run earlier. Does nothing on systems other than Linux with glibc, for which no such provider exists.
 */
export function skipExitHandlers(koffi: Koffi & { [SKIPS]?: boolean }): void {
  if (koffi[SKIPS] === true || process.platform !== 'linux') return
  koffi[SKIPS] = true
  const libc = koffi.load(null)
  try {
    libc.func('on_exit', 'int', ['void *', 'void *'])(libc.symbol('_exit', 'int'), null)
  } catch {
    // musl has no on_exit.
  }
}
