import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Test } from 'tap'
import { ROOT } from './building.ts'

export const SVC = join(ROOT, 'kernel/bin/svc.cjs')

/** Returns the reason why programs cannot run; false if they can. */
export function unbuilt(): string | false {
  return existsSync(join(ROOT, 'plugins/app-runtime/dist/plugin.cjs')) ? false : 'the build is missing: npm run build'
}

/** Serves the program of a project in another process, on a free port. Returns the address once `path` responds. */
export async function serve(t: Test, folder: string, path: string): Promise<string> {
  const argv = [SVC, 'run', 'app.vox', '--port', '0', '--set', 'plugins.http.port=0']
  const child = spawn(process.execPath, argv, { cwd: folder })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      output += chunk
    })
  }
  t.teardown(() => stop(child))
  while (child.exitCode === null) {
    const [, url = null] = /app listens on (http:\/\/[\d.:]+\d)\b/.exec(output) ?? []
    const response = url === null ? null : await fetch(url + path).catch(() => null)
    if (url !== null && response?.ok === true) return url
    await wait(100)
  }
  throw new Error(`svc run ended with ${child.exitCode}: ${output}`)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
