import { writeFileSync } from 'node:fs'
import { isSvcError } from '@svc/plugin-sdk'
import { fail } from '../failure.ts'
import type { Machine } from '../machine.ts'
import { intArg, type Native, native, textArg } from '../native.ts'
import { typeName } from '../type-name.ts'
import { error, ok, type Value } from '../value.ts'

/** Functions of web pages, for programs with the capability browser. `open` returns the id of a page. */
export const BROWSER: Readonly<Record<string, Native>> = {
  'Browser.open': browserFunction(1, 2, (args, ask) =>
    ok(ask('open', { url: textArg(args, 0), headless: isHeadless(args) }) as string)
  ),
  'Browser.goto': browserFunction(2, 2, (args, ask) =>
    done(ask('goto', { page: textArg(args, 0), url: textArg(args, 1) }))
  ),
  'Browser.click': browserFunction(2, 2, (args, ask) => done(ask('click', targetOf(args)))),
  'Browser.fill': browserFunction(3, 3, (args, ask) =>
    done(ask('fill', { ...targetOf(args), text: textArg(args, 2) }))
  ),
  'Browser.wait_for': browserFunction(3, 3, (args, ask) =>
    done(ask('wait_for', { ...targetOf(args), milliseconds: intArg(args, 2) }))
  ),
  'Browser.text': browserFunction(1, 2, (args, ask, machine) => content(ask('text', targetOf(args)), machine)),
  'Browser.html': browserFunction(1, 2, (args, ask, machine) => content(ask('html', targetOf(args)), machine)),
  'Browser.screenshot': browserFunction(2, 2, (args, ask, { host }) => {
    const [page, path] = [textArg(args, 0), textArg(args, 1)]
    if (!host.capabilities.has('fs')) {
      fail('RUN_CAPABILITY_DENIED', 'Browser.screenshot needs the capability fs, which the program was not granted')
    }
    const picture = ask('screenshot', { page }) as Uint8Array
    try {
      writeFileSync(path, picture)
    } catch (cause) {
      return error((cause as Error).message)
    }
    return ok(path)
  }),
  'Browser.close': browserFunction(1, 1, (args, ask) => done(ask('close', { page: textArg(args, 0) })))
}

type Ask = (kind: string, question: object) => unknown

/** Declares a function that uses the browser through the main thread; returns an Error if the browser fails. */
function browserFunction(
  minArgs: number,
  maxArgs: number,
  run: (args: readonly Value[], ask: Ask, machine: Machine) => Value
): Native {
  return native(
    minArgs,
    maxArgs,
    (args, machine) => {
      const { bridge } = machine.host
      if (bridge === null) return error('no browser is available here')
      try {
        return run(
          args,
          (kind, question) => bridge.ask(`browser.${kind}`, question, machine.millisecondsLeft()),
          machine
        )
      } catch (cause) {
        if (!isSvcError(cause)) throw cause
        if (cause.code === 'RUN_UNSUPPORTED') return fail('RUN_UNSUPPORTED', cause.message)
        if (!cause.code.startsWith('BRW_')) throw cause
        return error(cause.hint === undefined ? cause.message : `${cause.message}: ${cause.hint}`)
      }
    },
    'browser'
  )
}

/** Reads the page and the optional element. */
function targetOf(args: readonly Value[]): { readonly page: string; readonly target: string } {
  return { page: textArg(args, 0), target: args.length < 2 ? '' : textArg(args, 1) }
}

function isHeadless([, headless = true]: readonly Value[]): boolean {
  return typeof headless === 'boolean' ? headless : fail('RUN_TYPE', `expected a bool, found ${typeName(headless)}`)
}

function done(_answer: unknown): Value {
  return ok(null)
}

function content(answer: unknown, machine: Machine): Value {
  const text = answer as string
  machine.allocate(2 * text.length)
  return ok(text)
}
