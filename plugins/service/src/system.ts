import { execFile } from 'node:child_process'
import { homedir, userInfo } from 'node:os'
import { serviceErrors } from './errors.ts'

/** Operating system, as far as this plugin needs it. */
export interface System {
  readonly platform: NodeJS.Platform
  readonly uid: number
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Folder before `/etc`, `/Library` and `/usr`; empty except in tests. */
  readonly root: string
  /** Runs a program. Rejects only if it cannot be started. */
  run(file: string, argv: readonly string[]): Promise<Ran>
}

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export function thisSystem(env: System['env'], signal: AbortSignal): System {
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? userInfo().uid,
    home: env.HOME || homedir(),
    env,
    root: '',
    run: (file, argv) =>
      new Promise((resolve, reject) => {
        execFile(file, argv, { encoding: 'utf8', timeout: 120_000, signal }, (error, stdout, stderr) => {
          const code = error === null ? 0 : error.code
          // A text is the code of a system error: the program did not run.
          if (typeof code === 'number') resolve({ code, stdout, stderr })
          else reject(error)
        })
      })
  }
}

/** Runs a program of the service manager. Throws `SRV_UNSUPPORTED` if it is not installed. */
export async function runManager(system: System, file: string, argv: readonly string[]): Promise<Ran> {
  try {
    return await system.run(file, argv)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw serviceErrors.create('SRV_UNSUPPORTED', `${file} is not installed; svc needs it to manage a service`, {
      hint: 'svc service install --dry-run prints the file; give it to the service manager of this system'
    })
  }
}

/** Like {@link runManager}, but throws `SRV_MANAGER_FAILED` if the program reports a failure. */
export async function mustRun(system: System, file: string, argv: readonly string[]): Promise<Ran> {
  const ran = await runManager(system, file, argv)
  if (ran.code === 0) return ran
  const said = ran.stderr.trim() || ran.stdout.trim() || `status ${ran.code}`
  throw serviceErrors.create('SRV_MANAGER_FAILED', `${[file, ...argv].join(' ')}: ${said}`, {
    hint: 'correct what the service manager reports, and run the command again'
  })
}
