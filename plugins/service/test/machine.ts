import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { installOptions, type Ran, type Services, type System } from '#root'

export interface Machine {
  readonly services: Services
  /** Commands that were run, as one text each. */
  readonly ran: string[]
  readonly root: string
}

export interface MachineOptions {
  readonly platform?: NodeJS.Platform
  readonly uid?: number
  /** Answers to commands, by their beginning. Default: success without output. */
  readonly answers?: Readonly<Record<string, Partial<Ran> | Error>>
}

/** Makes a machine in a folder, with a user and a project. The service manager is a function that records commands. */
export function makeMachine(
  folder: string,
  { platform = 'linux', uid = 0, answers = {} }: MachineOptions = {}
): Machine {
  const home = join(folder, 'home', 'ada')
  const project = join(home, 'my project')
  mkdirSync(project, { recursive: true })
  const { uid: own, gid } = process.getuid === undefined ? { uid: 0, gid: 0 } : ids()
  const passwd = `ada:x:${own}:${gid}::${home}:/bin/sh\n`
  const known: MachineOptions['answers'] = { 'getent passwd': { stdout: passwd }, ...answers }
  const ran: string[] = []
  const system: System = {
    ...{ platform, uid, home, env: {}, root: folder },
    async run(file, argv) {
      const line = [file, ...argv].join(' ')
      ran.push(line)
      const answer = Object.entries(known).find(([beginning]) => line.startsWith(beginning))?.[1] ?? {}
      if (answer instanceof Error) throw answer
      return { code: 0, stdout: '', stderr: '', ...answer }
    }
  }
  return { services: { system, project, node: '/usr/bin/node', program: '/opt/svc/bin/svc.cjs' }, ran, root: folder }
}

function ids(): { readonly uid: number; readonly gid: number } {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
}

export const DEFAULTS = installOptions({ run_as: 'ada' })
export const USER = installOptions({ user: true })

/** Runs a handler, and returns its exit code and its output. */
export async function output(
  run: (io: { readonly stdout: PassThrough; readonly json: boolean }) => Promise<number>,
  json = false
): Promise<{ readonly code: number; readonly text: string }> {
  const stdout = new PassThrough()
  const code = await run({ stdout, json })
  return { code, text: String(stdout.read() ?? '') }
}
