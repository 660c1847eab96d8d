import { intArg, type Native, native, textArg } from '../native.ts'
import { error, NONE, Opaque, ok, some, type Value } from '../value.ts'

/**
 * Regular expressions of JavaScript. A step check cannot interrupt catastrophic backtracking;
 * in a separate thread, the time limit terminates the thread.
 */
export const REGULAR_EXPRESSIONS: Readonly<Record<string, Native>> = {
  'std.regex.compile': native(1, 1, args => {
    try {
      return ok(expression(new RegExp(textArg(args, 0), 'u')))
    } catch (cause) {
      return error((cause as Error).message)
    }
  })
}

function expression(pattern: RegExp): Opaque {
  const everywhere = new RegExp(pattern.source, 'gu')
  return new Opaque('Regex', {
    find: args => {
      const found = pattern.exec(textArg(args, 0))
      return found === null ? NONE : some(matchOf(found))
    },
    find_all: args => Array.from(textArg(args, 0).matchAll(everywhere), matchOf),
    matches: args => pattern.test(textArg(args, 0)),
    replace: args => textArg(args, 0).replace(pattern, () => textArg(args, 1)),
    replace_all: args => textArg(args, 0).replace(everywhere, () => textArg(args, 1))
  })
}

function matchOf(found: RegExpExecArray): Value {
  return new Opaque('Match', {
    group: args => {
      const text = found[intArg(args, 0)]
      return text === undefined ? NONE : some(text)
    },
    text: () => found[0]
  })
}
