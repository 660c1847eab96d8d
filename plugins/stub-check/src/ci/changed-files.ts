import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { errorMessage } from '@svc/plugin-sdk'
import { stubCheckErrors } from '../errors.ts'

const run = promisify(execFile)
const TIMEOUT_MS = 30_000
const MAX_BYTES = 64 * 2 ** 20

/**
 * Lists added, changed and renamed files of a git range, relative to the project. Throws `STB_GIT_FAILED`, and
 * `STB_OPTIONS_CONFLICT` for a range that git would read as an option.
 */
export async function changedFiles(root: string, range: string, signal: AbortSignal): Promise<readonly string[]> {
  if (range.startsWith('-') || /[\s\0]/.test(range))
    throw stubCheckErrors.create('STB_OPTIONS_CONFLICT', `${JSON.stringify(range)} is not a git range`, {
      hint: 'set SVC_SECRET_GUARD_GIT_REF to a range such as origin/main...HEAD'
    })
  try {
    // Git may not start a program that the repository names: neither a file monitor nor an external comparison.
    const options = [
      '-c',
      'core.fsmonitor=false',
      'diff',
      '--no-ext-diff',
      '--no-textconv',
      '--relative',
      '-z',
      '--name-only',
      '--diff-filter=AMR',
      range,
      '--'
    ]
    const { stdout } = await run('git', options, { cwd: root, signal, timeout: TIMEOUT_MS, maxBuffer: MAX_BYTES })
    return stdout.split('\0').filter(path => path !== '')
  } catch (error) {
    signal.throwIfAborted()
    const { stderr } = error as { stderr?: string }
    throw stubCheckErrors.create(
      'STB_GIT_FAILED',
      `git diff ${range} failed: ${(stderr ?? errorMessage(error)).trim().split('\n', 1)[0]}`,
      {
        hint: 'fetch the range, or pass --all'
      }
    )
  }
}
