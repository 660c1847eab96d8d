import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const SVC = fileURLToPath(new URL('../kernel/bin/svc.cjs', import.meta.url))

/** A program that `svc serve` serves in a separate process. */
export interface ServedProgram {
  readonly port: number
  readonly process: ChildProcess
  stop(): Promise<void>
}

/** Serves a program in a folder, with a database file whose commits are durable. `settings` are those of the plugins. */
export async function serve(
  folder: string,
  source: string,
  {
    settings = [],
    nodeOptions = []
  }: { readonly settings?: readonly string[]; readonly nodeOptions?: readonly string[] } = {}
): Promise<ServedProgram> {
  writeFileSync(join(folder, 'svc.toml'), '')
  writeFileSync(join(folder, 'app.vox'), source)
  const all = [
    'app-runtime.program="app.vox"',
    'app-runtime.port=0',
    'http.main=false',
    'database.path="program.db"',
    'database.synchronous="full"',
    ...settings
  ].flatMap(each => ['--set', `plugins.${each}`])
  const argv = [...nodeOptions, SVC, 'serve', '--json', '--only', 'app-runtime,http', ...all]
  const child = spawn(process.execPath, argv, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const port = await portOf(child)
  return {
    port,
    process: child,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill()
      await ended
    }
  }
}

/** Microseconds of a tick, the unit of CPU times in /proc. */
const TICK = 10_000

/** Returns the CPU time of a process in microseconds; null where there is no /proc. */
export function cpuMicroseconds(pid: number | undefined): number | null {
  if (process.platform !== 'linux' || pid === undefined) return null
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program may contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK
}

function portOf(server: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const lines: string[] = []
    createInterface({ input: server.stderr as NodeJS.ReadableStream }).on('line', line => {
      lines.push(line)
      const port = /app listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
    server.once('exit', code => reject(new Error(`svc serve ended with ${code}:\n${lines.join('\n')}`)))
  })
}
