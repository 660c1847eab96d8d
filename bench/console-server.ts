import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium } from 'playwright-core'

const SVC = fileURLToPath(new URL('../kernel/bin/svc.cjs', import.meta.url))

/** A running `svc serve` in an empty project, whose tasks no agent works on. */
export interface ConsoleServer {
  readonly url: string
  readonly pid: number
  /** Address of the debugger; null unless it was requested. */
  readonly debuggerUrl: string | null
  /** Submits tasks. Returns the ids of those that no agent works on: the priority of the others is fixed. */
  submitTasks(count: number): Promise<readonly string[]>
  /** Changes the priority of tasks at a rate until the returned function is called. */
  changeTasks(this: void, ids: readonly string[], perSecond: number): () => Promise<void>
  /** Returns an address that signs a browser in. */
  signIn(): string
  close(): void
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking']
  })
}

export interface ConsoleServerOptions {
  /** With a debugger on a free port. */
  readonly debug?: boolean
  /** Settings as `KEY=VALUE`. */
  readonly settings?: readonly string[]
}

/** Starts the server. */
export async function openConsoleServer({
  debug = false,
  settings = []
}: ConsoleServerOptions = {}): Promise<ConsoleServer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-console-'))
  writeFileSync(join(folder, 'svc.toml'), '')
  // Without the fleet the tasks are not worked on, so that an idle page can be measured.
  const free = [
    'plugins.http.port=0',
    'plugins.daemon.socket=127.0.0.1:0',
    'plugins.model-server.port=0',
    'plugins.agent-fleet.enabled=false',
    ...settings
  ]
  const argv = [SVC, 'serve', '--json', ...free.flatMap(setting => ['--set', setting])]
  const flags = debug ? ['--inspect=127.0.0.1:0'] : []
  const child = spawn(process.execPath, [...flags, ...argv], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let url = ''
  let debuggerUrl: string | null = null
  const lines = createInterface({ input: child.stderr })
  await new Promise<void>((resolve, reject) => {
    lines.on('line', line => {
      url = /main listens on (http:\/\/[^\s"]+)/.exec(line)?.[1] ?? url
      debuggerUrl = /Debugger listening on (ws:\S+)/.exec(line)?.[1] ?? debuggerUrl
      if (line.includes('console: http')) resolve()
    })
    void once(child, 'exit').then(() => reject(new Error('svc serve ended')))
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  return {
    url,
    pid: child.pid as number,
    debuggerUrl,
    submitTasks: count => submitTasks(agent, url, count),
    changeTasks: (ids, perSecond) => changeTasks(agent, url, ids, perSecond),
    signIn() {
      const output = execFileSync(process.execPath, [SVC, 'dashboard', '--print', '--json'], { cwd: folder })
      return JSON.parse(output.toString()).url as string
    },
    close() {
      agent.destroy()
      child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

class PostError extends Error {
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** Sends JSON and returns the answer. Throws `PostError` for another status than 200 and 201. */
function post(agent: Agent, url: string, body: unknown): Promise<any> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/json' } }, response => {
      let text = ''
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => {
        const { statusCode = 0 } = response
        if (statusCode === 200 || statusCode === 201) resolve(JSON.parse(text))
        else reject(new PostError(`${url}: ${statusCode} ${text}`, statusCode))
      })
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

async function submitTasks(agent: Agent, url: string, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  let next = 0
  const submitter = async (): Promise<void> => {
    while (next < count) {
      const description = `Task number ${next++} of the bench`
      const { task_id } = await post(agent, `${url}/api/orchestrator/tasks`, { description })
      ids.push(String(task_id))
    }
  }
  await Promise.all(Array.from({ length: 16 }, submitter))
  return ids.slice(Math.min(100, count / 2))
}

/** Replaces a task that waited too long, and was cancelled. */
async function replaceTask(agent: Agent, url: string, ids: string[], index: number): Promise<void> {
  const { task_id } = await post(agent, `${url}/api/orchestrator/tasks`, { description: 'Another task of the bench' })
  ids[index] = String(task_id)
}

function changeTasks(agent: Agent, url: string, given: readonly string[], perSecond: number): () => Promise<void> {
  const ids = [...given]
  const priorities = ['Urgent', 'Normal', 'Background']
  const begun = performance.now()
  let isOver = false
  const change = async (): Promise<void> => {
    for (let count = 0; !isOver; count++) {
      const wait = begun + (count * 1_000) / perSecond - performance.now()
      if (wait > 0) await sleep(wait)
      const index = count % ids.length
      const path = `${url}/api/orchestrator/tasks/${ids[index]}/priority`
      post(agent, path, { priority: priorities[count % 3] })
        .catch((error: unknown) => {
          if (!(error instanceof PostError) || (error.status !== 404 && error.status !== 409)) throw error
          return replaceTask(agent, url, ids, index)
        })
        .catch((error: unknown) => {
          if (!isOver) throw error
        })
    }
  }
  const changes = change()
  return async () => {
    isOver = true
    await changes
  }
}
