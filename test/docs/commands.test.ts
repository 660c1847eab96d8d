import t from 'tap'
import { ownManifests } from '../../tools/docs.ts'
import { knownCommands } from '../../tools/reference/known-commands.ts'
import { type Document, documents } from './markdown.ts'

interface ShownCommand {
  /** Document and line. */
  readonly place: string
  readonly words: readonly string[]
}

/** Commands of plugins that the documents let their readers write. */
const EXAMPLES = new Set(['hello', 'words'])
const SHELLS = new Set(['', 'sh', 'console', 'bash'])
const PROMPT = /^[$#] /
const CALL = /^(?:[$#] )?(?:sudo )?(?:[A-Z_]+=\S* )*(?:npx )?svc ([a-z].*)$/

/** Returns the calls of `svc` in the blocks for a shell, up to a pipe, a comment or the next command. */
function shownCommands({ path, text }: Document): ShownCommand[] {
  const shown: ShownCommand[] = []
  const lines = text.split('\n')
  for (let index = 0; index < lines.length; index++) {
    const [, language] = /^```(\w*)/.exec(lines[index] ?? '') ?? []
    if (language === undefined) continue
    const end = lines.indexOf('```', index + 1)
    const block = lines.slice(index + 1, end)
    // Where commands have a prompt, the other lines are output.
    const hasPrompt = language === 'console' || block.some(line => line.startsWith('$ '))
    for (const [at, line] of block.entries()) {
      const [, call] = hasPrompt && !PROMPT.test(line) ? [] : (CALL.exec(line) ?? [])
      if (call === undefined || !SHELLS.has(language)) continue
      const words = call.replaceAll(/"[^"]*"|'[^']*'/g, 'TEXT').split(/ (?:#|\||&&|;|>|2>)|;/)[0] ?? ''
      shown.push({ place: `${path}:${index + at + 2}`, words: words.trim().split(/\s+/) })
    }
    index = end
  }
  return shown
}

t.test('every call of svc in a document names a command and options that exist', async t => {
  const find = knownCommands(await ownManifests())
  const wrong = documents()
    // The generated page shows the usage lines of all commands.
    .filter(({ path }) => !path.startsWith('docs/reference/'))
    .flatMap(shownCommands)
    .flatMap(({ place, words }) => {
      const plain = words.filter(word => !word.startsWith('-'))
      const { path, isCommand, flags } = find(plain)
      if (path.length === 0) return EXAMPLES.has(plain[0] ?? '') ? [] : [`${place}: svc ${words.join(' ')}`]
      const isHelp = words.includes('--help')
      if (!isCommand && !isHelp) return [`${place}: svc ${words.join(' ')} names no command`]
      return words
        .filter(word => /^--[a-z]/.test(word))
        .map(word => word.replace(/=.*$/, '').replace(/^--no-/, '--'))
        .filter(flag => !flags.has(flag) && !flags.has(flag.replace(/^--/, '--no-')))
        .map(flag => `${place}: svc ${path.join(' ')} has no ${flag}`)
    })
  t.same(wrong, [])
})
