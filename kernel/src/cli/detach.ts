import { spawn } from 'node:child_process'
import type { DetachedProcess } from '@svc/plugin-sdk'
import type { CommandSession } from './commands.ts'

/**
 * Starts another svc command on the session's project, with the same Node options and global flags. The process is
 * detached: neither Ctrl-C in this terminal nor closing the terminal ends it.
 */
export function detach({ catalog, flags }: CommandSession, words: readonly string[], output: number): DetachedProcess {
  const { profile, set, logLevel } = flags
  const argv = [
    ...[...process.execArgv, process.argv[1] ?? '', ...words],
    ...['--project', catalog.projectRoot],
    ...(profile === undefined ? [] : ['--profile', profile]),
    ...set.flatMap(each => ['--set', each]),
    ...(logLevel === undefined ? [] : ['--log-level', logLevel])
  ]
  const child = spawn(process.execPath, argv, {
    cwd: catalog.projectRoot,
    detached: true,
    stdio: ['ignore', output, output],
    windowsHide: true
  })
  let ending: string | null = null
  child.once('error', error => {
    ending = error.message
  })
  child.once('exit', (code, signal) => {
    ending = signal ?? `exit code ${code}`
  })
  child.unref()
  return { pid: child.pid, ending: () => ending }
}
