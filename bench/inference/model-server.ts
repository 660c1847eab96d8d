import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import type { Quantization } from '@svc/contracts'
import { root, scratch } from './peers.ts'

/** Server that runs in a separate process. */
export interface MeasuredServer {
  readonly url: string
  readonly processId: number
  stop(): Promise<void>
}

export interface ModelServerOptions {
  /** Run directory or GGUF file. */
  readonly runDirectory: string
  readonly quantization: Quantization
  readonly slots: number
  readonly threads: number
}

/** Starts the model server from the built bundles, as a user would. The model is named `bench`. */
export async function startModelServer(options: ModelServerOptions): Promise<MeasuredServer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  await writeFile(
    join(folder, 'svc.toml'),
    [
      '[plugins.model-server]',
      `model = ${JSON.stringify(options.runDirectory)}`,
      `model_name = "bench"`,
      `quantization = "${options.quantization}"`,
      `slots = ${options.slots}`,
      'port = 0',
      '[plugins.inference-onnx]',
      `threads = ${options.threads}`,
      // The gain from speculation depends on the text, and would hide the cost of the server.
      'speculation = 0',
      `cache_directory = ${JSON.stringify(join(scratch, 'cache'))}`
    ].join('\n')
  )
  const program = join(root, 'kernel', 'bin', 'svc.cjs')
  const child = spawn(process.execPath, [program, 'serve', '--profile', 'model-server', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe']
  })
  const end = () => void child.kill()
  process.once('exit', end)
  const url = await new Promise<string>((found, failed) => {
    const lines = createInterface({ input: child.stderr })
    lines.on('line', line => {
      const address = /model-server listens on (http:\/\/[^\s"]+)/.exec(line)?.[1]
      if (address !== undefined) found(address)
    })
    lines.on('close', () => failed(new Error('the server ended before it listened; run `npm run build` first')))
  })
  while (!(await fetch(`${url}/ready`)).ok) await pause(200)
  return {
    url,
    processId: child.pid as number,
    async stop() {
      process.off('exit', end)
      child.kill()
      await once(child, 'exit')
      await rm(folder, { recursive: true, force: true })
    }
  }
}
