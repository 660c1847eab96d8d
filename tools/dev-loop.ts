import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { relative } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'

/** Program and arguments. */
export type Command = readonly [program: string, ...args: string[]]

/** Files that run only after a build of their plugin. */
export interface Page {
  readonly plugin: string
  readonly folder: string
  readonly build: Command
  /** Makes the server use the built files. */
  readonly reload: Command
}

export interface DevLoopOptions {
  readonly root: string
  /** Folders whose changes need a build and a restart of the server. */
  readonly core: readonly string[]
  /** Builds what `core` needs. A failure keeps the running server. */
  readonly build: Command
  readonly serve: Command
  readonly pages: readonly Page[]
  readonly log: (line: string) => void
  /** Output of the commands. Default: that of this process. */
  readonly stdio?: 'inherit' | 'ignore'
}

/** Time for several files of one save or one checkout. */
const SETTLE_MS = 150

/**
 * Runs a server while a contributor edits it: rebuilds and restarts it after changes in its core, and rebuilds pages. The server
 * itself reloads plugins.
 */
export class DevLoop {
  readonly #options: DevLoopOptions
  readonly #watchers: FSWatcher[] = []
  readonly #timers = new Map<string, NodeJS.Timeout>()
  #server: ChildProcess | null = null
  #work: Promise<unknown> = Promise.resolve()
  #stopping = false
  #end: (code: number) => void = () => {}

  constructor(options: DevLoopOptions) {
    this.#options = options
  }

  /** Starts the server and the watchers. Resolves to the exit code, after `signal` or if the first start fails. */
  async run(): Promise<number> {
    const ended = new Promise<number>(resolve => {
      this.#end = resolve
    })
    const { core, pages } = this.#options
    await this.#watch(core, 'core', path => this.#rebuild(path))
    for (const page of pages) await this.#watch([page.folder], page.plugin, () => this.#buildPage(page))
    this.#start(true)
    const code = await ended
    for (const timer of this.#timers.values()) clearTimeout(timer)
    await Promise.all(this.#watchers.map(each => each.close()))
    return code
  }

  /** Passes a signal to the server; the loop ends with it. */
  signal(name: 'SIGINT' | 'SIGTERM'): void {
    this.#stopping = true
    if (this.#server === null) this.#end(0)
    else this.#server.kill(name)
  }

  /** Ends the server at once, for the exit of this process. */
  kill(): void {
    this.#server?.kill('SIGKILL')
  }

  async #watch(folders: readonly string[], key: string, run: (path: string) => Promise<void>): Promise<void> {
    const watcher = watch([...folders], { ignoreInitial: true })
    this.#watchers.push(watcher)
    watcher.on('all', (_event, path) => {
      clearTimeout(this.#timers.get(key))
      this.#timers.set(
        key,
        setTimeout(() => {
          this.#work = this.#work.then(() => run(path))
        }, SETTLE_MS)
      )
    })
    await once(watcher, 'ready')
  }

  async #rebuild(path: string): Promise<void> {
    const { root, build, log } = this.#options
    log(`${relative(root, path)} changed: building`)
    if (this.#stopping) return
    if (!(await this.#succeeds(build))) {
      log(this.#server === null ? 'the build failed' : 'the build failed; the running server stays')
      return
    }
    log('restarting svc')
    const old = this.#server
    this.#server = null
    if (old !== null && old.exitCode === null) {
      old.kill('SIGINT')
      await once(old, 'exit')
    }
    if (this.#stopping) this.#end(0)
    else this.#start(false)
  }

  async #buildPage({ plugin, build, reload }: Page): Promise<void> {
    const { log } = this.#options
    log(`the page of ${plugin} changed: building`)
    if (this.#stopping) return
    if (!(await this.#succeeds(build))) log('the build failed; the old page stays')
    else if (this.#server !== null && (await this.#succeeds(reload))) log(`the page of ${plugin} is up to date`)
  }

  #start(isFirst: boolean): void {
    const [program, ...args] = this.#options.serve
    // In a separate process group: Ctrl-C must reach it once, from this process, since a second signal ends it at once.
    const server = spawn(program, args, { stdio: this.#options.stdio ?? 'inherit', detached: true })
    this.#server = server
    server.once('error', error => this.#options.log(`${program}: ${error.message}`))
    server.once('close', code => {
      if (this.#server !== server) return
      this.#server = null
      if (this.#stopping || isFirst) this.#end(code ?? 1)
      else this.#options.log(`svc ended with exit code ${code}; it starts again after the next change`)
    })
  }

  async #succeeds([program, ...args]: Command): Promise<boolean> {
    const child = spawn(program, args, { cwd: this.#options.root, stdio: this.#options.stdio ?? 'inherit' })
    const code = await new Promise<number | null>(resolve => {
      child.once('error', () => resolve(1))
      child.once('close', resolve)
    })
    return code === 0
  }
}
