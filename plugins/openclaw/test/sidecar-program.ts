import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { OpenClawGateway, Sidecar, type SidecarOptions } from '#root'
import { freePort } from '../../../test/free-port.ts'
import { DEFAULTS } from './open-gateway.ts'

/**
 * Behaviour of the program: `ok` serves at once, `slow` after 300 ms, `deaf` never, `exit` ends with code 3, `stubborn`
 * ignores SIGTERM.
 */
export type Mode = 'ok' | 'slow' | 'deaf' | 'exit' | 'stubborn'

const WS = fileURLToPath(new URL('../../../node_modules/ws/wrapper.mjs', import.meta.url))

/** Writes a gateway program, which is a real process with a real websocket, to a folder. Returns its path. */
export function writeProgram(folder: string): string {
  mkdirSync(folder, { recursive: true })
  const module = join(folder, 'gateway.mjs')
  writeFileSync(
    module,
    `import { appendFileSync } from 'node:fs'
const { OPENCLAW_MODE: mode, OPENCLAW_PORT: port, OPENCLAW_LOG: log } = process.env
if (process.argv.includes('--version')) {
  console.log('openclaw-gateway 1.4.2\\nbuilt today')
  process.exit(0)
}
appendFileSync(log, JSON.stringify({ pid: process.pid, cwd: process.cwd(), env: Object.keys(process.env) }) + '\\n')
if (mode === 'exit') process.exit(3)
if (mode === 'stubborn') process.on('SIGTERM', () => {})
setInterval(() => {}, 1_000)
if (mode !== 'deaf') {
  if (mode === 'slow') await new Promise(resolve => setTimeout(resolve, 300))
  const { WebSocketServer } = await import(${JSON.stringify(WS)})
  new WebSocketServer({ port: Number(port), host: '127.0.0.1' }).on('connection', socket => {
    socket.on('error', error => appendFileSync(log + '.errors', String(error)))
    socket.on('message', data => {
      const { id, method } = JSON.parse(String(data))
      const hello = { type: 'hello-ok', protocol: 3 }
      socket.send(JSON.stringify({ type: 'res', id, ok: true, payload: method === 'connect' ? hello : {} }))
    })
  })
}
`
  )
  const program = join(folder, 'openclaw-gateway')
  writeFileSync(program, `#!/bin/sh\nexec ${JSON.stringify(process.execPath)} ${JSON.stringify(module)} "$@"\n`)
  chmodSync(program, 0o755)
  return program
}

export interface SidecarBench {
  readonly root: string
  readonly program: string
  readonly wsUrl: string
  readonly options: SidecarOptions
  readonly gateway: OpenClawGateway
  readonly sidecar: Sidecar
  /** Returns what each started process reported. */
  starts(): readonly { readonly pid: number; readonly cwd: string; readonly env: readonly string[] }[]
}

/** Opens a sidecar in a folder of the test. Its process ends with the test. */
export async function openSidecar(
  t: Test,
  mode: Mode = 'ok',
  changes: Partial<SidecarOptions> = {}
): Promise<SidecarBench> {
  // tap removes its own folders before the teardown, which reads the ids of the processes from it.
  const root = mkdtempSync(join(tmpdir(), 'svc-sidecar-'))
  const bin = join(root, 'bin')
  const program = writeProgram(bin)
  const port = await freePort()
  const log = join(root, 'starts.jsonl')
  const wsUrl = `ws://127.0.0.1:${port}`
  const gateway = new OpenClawGateway(
    { ...DEFAULTS, url: 'http://127.0.0.1:1', ws_url: wsUrl, challenge_timeout_ms: 20 },
    '1.2.3'
  )
  const options: SidecarOptions = {
    projectRoot: root,
    folders: [bin],
    environment: {
      PATH: process.env.PATH,
      OPENCLAW_MODE: mode,
      OPENCLAW_PORT: String(port),
      OPENCLAW_LOG: log,
      SVC_EXTGW_TOKEN: 'hidden'
    },
    disabled: false,
    maxAttempts: 8,
    backoffMs: 100,
    probe: signal => gateway.responds(signal),
    ...changes
  }
  const starts: SidecarBench['starts'] = () =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .trim()
          .split('\n')
          .map(line => JSON.parse(line))
      : []
  t.teardown(async () => {
    for (const { pid } of starts()) kill(pid)
    await gateway.close()
    rmSync(root, { recursive: true, force: true })
  })
  return { root, program, wsUrl, options, gateway, sidecar: new Sidecar(options), starts }
}

/** Kills a process. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended.
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
