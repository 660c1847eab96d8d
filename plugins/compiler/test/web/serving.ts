import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Test } from 'tap'
import { ROOT } from './building.ts'

export const SVC = join(ROOT, 'kernel/bin/svc.mjs')

/** Reason why programs cannot run; false if they can. */
export function unbuilt(): string | false {
  return existsSync(join(ROOT, 'plugins/app-runtime/dist/plugin.cjs')) ? false : 'the build is missing: npm run build'
}

/** Serves the program of a project in a separate process; returns its address after `path` answers. */
export async function serve(t: Test, folder: string, path: string): Promise<string> {
  const port = await freePort()
  // Another test may hold the default port of the management interface.
  const argv = [SVC, 'run', 'app.vox', '--port', String(port), '--set', 'plugins.http.port=0']
  const child = spawn(process.execPath, argv, { cwd: folder })
  let told = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      told += chunk
    })
  }
  t.teardown(() => stop(child))
  const url = `http://127.0.0.1:${port}`
  while (child.exitCode === null) {
    const response = await fetch(url + path).catch(() => null)
    if (response?.ok === true) return url
    await wait(100)
  }
  throw new Error(`svc run ended with ${child.exitCode}: ${told}`)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
