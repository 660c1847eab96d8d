import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from './error-codes.ts'

/** Lines that a reader sees without scrolling. */
const FIRST_SCREEN = 25
const BLOCK = /^```(?:sh|console|toml|js|ts|vox)?$/
/** Words that only authors of plugins know; they may follow after the example. */
const INTERNAL = /@\d`|\b(?:Provides|Taps|aggregate|immutable|swaps|manifest|scope|singleton|handler)\b/

const plugins = readdirSync(join(ROOT, 'plugins')).filter(name =>
  existsSync(join(ROOT, 'plugins', name, 'src', 'plugin.ts'))
)

t.test('the README of each plugin begins with what one can do with it, and an example on the first screen', t => {
  const problems = plugins.flatMap(name => {
    const file = join(ROOT, 'plugins', name, 'README.md')
    if (!existsSync(file)) return [`${name}: no README`]
    const lines = readFileSync(file, 'utf8').split('\n')
    const paragraph = (/^# .+\n\n([\s\S]+?)\n\n/.exec(lines.join('\n'))?.[1] ?? '').replaceAll('\n', ' ')
    const internal = INTERNAL.exec(paragraph)?.[0]
    return [
      ...(/^[A-Z].{40,}[.:]$/.test(paragraph) ? [] : [`${name}: the first paragraph is no sentence`]),
      ...(internal === undefined ? [] : [`${name}: the first paragraph has ${internal}`]),
      ...(lines.slice(0, FIRST_SCREEN).some(line => BLOCK.test(line))
        ? []
        : [`${name}: no example on the first screen`])
    ]
  })
  t.same(problems, [])
  t.end()
})
