/**
 * Time from a mutation to the new value at every subscriber of one live query, over websockets. The program runs in a
 * separate process, the subscribers in this one. Needs `npm run build`.
 *
 *   node --import tsx --conditions=svc-source bench/live.ts [--json] [--subscribers N] [--changes N]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { WebSocket } from 'ws'
import { isSmoke } from './smoke-mode.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const SOURCE = `
@table
type Message { author: str
    text: str }

@query
fn latest() to List[Message] { db.Message.all().order_by("_id", "desc").limit(20).live("messages") }

@mutation
fn write(author: str, text: str) to int { db.Message.insert({ author: author, text: text }) }
`

export interface LiveResult {
  readonly subscribers: number
  readonly changes: number
  /** Milliseconds from the call of the mutation to the value at a subscriber. */
  readonly p50_ms: number
  readonly p99_ms: number
  readonly max_ms: number
}

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    subscribers: { type: 'string', default: isSmoke ? '20' : '1000' },
    changes: { type: 'string', default: isSmoke ? '5' : '50' }
  }
})

/** A client of the live query, which calls `onText` with the newest text. */
async function subscribe(url: string, onText: (text: string) => void): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/live`)
  await once(socket, 'open')
  socket.send('{"watch":1,"query":"latest"}')
  await once(socket, 'message')
  socket.on('message', data => {
    // The newest message is the first; parsing all of it would measure this process.
    onText(/"text":"([^"]*)"/.exec(String(data))?.[1] ?? '')
  })
  return socket
}

async function measure(url: string, subscribers: number, changes: number): Promise<LiveResult> {
  let waiting = 0
  let wanted = ''
  let since = 0
  let done = (): void => undefined
  const times: number[] = []
  const onText = (text: string): void => {
    if (text !== wanted) return
    times.push(performance.now() - since)
    waiting -= 1
    if (waiting === 0) done()
  }
  const sockets: WebSocket[] = []
  for (let index = 0; index < subscribers; index++) sockets.push(await subscribe(url, onText))
  const change = async (index: number): Promise<void> => {
    wanted = `change ${index}`
    waiting = subscribers
    const received = new Promise<void>(resolve => {
      done = resolve
    })
    since = performance.now()
    const body = JSON.stringify({ author: 'Ada', text: wanted })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/api/mutation/write`, { method: 'POST', headers, body })
    if (response.status !== 200) throw new Error(await response.text())
    await received
  }
  const warmUp = Math.ceil(changes / 5)
  for (let index = 0; index < warmUp; index++) await change(-index - 1)
  times.length = 0
  for (let index = 0; index < changes; index++) await change(index)
  for (const socket of sockets) socket.terminate()
  times.sort((a, b) => a - b)
  const at = (part: number): number =>
    Math.round((times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0) * 10) / 10
  return { subscribers, changes, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) }
}

const folder = mkdtempSync(join(tmpdir(), 'bench-live-'))
writeFileSync(join(folder, 'svc.toml'), '')
writeFileSync(join(folder, 'app.vox'), SOURCE)
const argv = [join(ROOT, 'kernel', 'bin', 'svc.cjs'), 'run', 'app.vox', '--port', '0', '--set', 'plugins.http.port=0']
const child = spawn(process.execPath, argv, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
try {
  let url: string | null = null
  for await (const line of createInterface({ input: child.stderr })) {
    url = /app listens on (http:\/\/[\d.:]+\d)/.exec(line)?.[1] ?? null
    if (url !== null) break
  }
  if (url === null) throw new Error('the program was not served')
  child.stderr.resume()
  const result = await measure(url, Number(values.subscribers), Number(values.changes))
  process.stdout.write(
    values.json
      ? `${JSON.stringify(result)}\n`
      : `${result.subscribers} subscribers, ${result.changes} changes: p50 ${result.p50_ms} ms, p99 ${result.p99_ms} ms, max ${result.max_ms} ms\n`
  )
} finally {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
  rmSync(folder, { recursive: true, force: true })
}
