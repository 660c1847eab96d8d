import { type CommandDescriptor, type CommandHandler, t } from '@svc/plugin-sdk'
import type { Runtime } from '../ort/runtime.ts'
import { type Merged, mergeAdapter } from './merge-adapter.ts'

/** `svc model adapters merge`. A command, because a merge takes minutes of all cores. */
export const mergeCommand: CommandDescriptor = {
  command: 'model adapters merge',
  summary: 'Merge an adapter into the weights that it changes, for servers without adapters',
  args: ['run_directory'],
  input: t.object({
    run_directory: t.string({ minLength: 1, description: 'Run directory with the weights and the adapter.' }),
    adapter: t.optional(
      t.string({ minLength: 1, description: 'Folder of the adapter, also of PEFT; default: the run directory.' })
    ),
    output: t.optional(
      t.string({ minLength: 1, description: 'File to write; default: merged.safetensors in the run directory.' })
    ),
    replace: t.optional(t.boolean({ description: 'Replace an existing file.' }))
  })
}

interface MergeInput {
  readonly run_directory: string
  readonly adapter?: string
  readonly output?: string
  readonly replace?: boolean
}

export interface MergeParts {
  /** Opens ONNX Runtime on its first call. */
  readonly runtime: () => Runtime
  readonly threads: () => Promise<number>
  readonly experimental: () => boolean
}

/** Returns the command handler, which reports each tensor on standard error. */
export function runMerge({ runtime, threads, experimental }: MergeParts): CommandHandler {
  return async (given, io) => {
    const { run_directory: runDirectory, adapter, output, replace } = given as unknown as MergeInput
    const merged = await mergeAdapter({
      runDirectory,
      adapter,
      output,
      replace,
      experimental: experimental(),
      runtime: runtime(),
      threads: await threads(),
      signal: io.signal,
      onProgress(done, total, tensor) {
        if (io.json) io.stderr.write(`${JSON.stringify({ progress: { done, total, message: tensor } })}\n`)
        else io.stderr.write(`merged ${tensor} ${done}/${total}\n`)
      }
    })
    io.stdout.write(`${io.json ? JSON.stringify(merged) : textOf(merged)}\n`)
    return 0
  }
}

function textOf({ output, handoff, tensors, bytes }: Merged): string {
  return `merged ${tensors.length} tensors into ${output} (${bytes} bytes); ${handoff} describes it`
}
