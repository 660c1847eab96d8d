import { execFile } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const source = pathToFileURL(`${import.meta.dirname}/../../src/ort/process-end.ts`).href

/** Ends a process in which a native exit handler, `abort`, is registered. */
async function endOf(skips: boolean): Promise<{ readonly code: number | string; readonly stdout: string }> {
  const program = `
    import { createRequire } from 'node:module'
    import { skipExitHandlers } from ${JSON.stringify(source)}
    const koffi = createRequire(${JSON.stringify(import.meta.filename)})('koffi')
    const libc = koffi.load(null)
    libc.func('on_exit', 'int', ['void *', 'void *'])(libc.symbol('abort', 'int'), null)
    if (${skips}) skipExitHandlers(koffi)
    process.on('exit', () => process.stdout.write('last words'))
    process.exitCode = 5`
  const run = promisify(execFile)(process.execPath, [...process.execArgv, '--input-type=module', '-e', program])
  return run.then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number | null; signal: string | null; stdout: string }) => ({
      code: error.signal ?? error.code ?? -1,
      stdout: error.stdout
    })
  )
}

t.test(
  'a process that opened the bundled CUDA provider ends with its exit code, and not in a native exit handler',
  { skip: process.platform !== 'linux' && 'on_exit is a function of glibc' },
  async t => {
    t.match(await endOf(false), { code: 'SIGABRT' })
    t.match(await endOf(true), { code: 5, stdout: 'last words' })
  }
)
