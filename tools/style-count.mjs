// Counts turns of phrase that the project does not use, in comments, messages and documents.
// node tools/style-count.mjs [--list] [PATH …]: exits with 1 if it finds any.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Patterns, each with its replacement. */
const TURNS = [
  [/\bwho(?:m|so)?ever\b/gi, 'name the party: the caller, the user, a client'],
  [/\b(?:nobody|somebody)\b/gi, 'name the party, or "no one"'],
  [/\banew\b/gi, 'again'],
  [/\bbesides?\b/gi, 'next to, also, in addition to'],
  [/(?<!\b(?:leave|leaves|leaving|left|let) (?:\w+ ){0,3})(?<!-)\balone\b/gi, 'only'],
  [/\bcom(?:es?|ing) to nothing\b|\bcame to nothing\b/gi, 'fails'],
  [/\b(?:is|are|was|were|be|been|being) told\b/gi, 'is notified, receives'],
  [/\btak(?:es?|ing) (?:its|their) turns?\b/gi, 'waits in the queue'],
  [/\bwhat (?:it|they) (?:is|are) of\b/gi, 'name the thing'],
  [/\b(?:stands?|stood) in\b/gi, 'replaces, is in'],
  [/\bof (?:its|their|one's|his|your|our) own\b/gi, 'its own X, a separate X'],
  [/\btells\b/gi, 'reports, says, shows'],
  [/\blent\b/gi, 'passed, shared'],
  [/\bask(?:ed|ing) for\b/gi, 'requested'],
  [
    /\b(?:hereby|thereby|herein|therein|thereof|whereof|whereupon|whence|thence|forthwith|lest|wherever)\b/gi,
    'plain words'
  ],
  [/\bas it were\b|\bas yet\b|\bin the midst\b|\bfor want of\b|\bit is of\b/gi, 'plain words'],
  [/\b(?:likeliest|heritable|pardoned|insisted)\b/gi, 'the term of the field'],
  [/\b(?:is|are|was|were) (?:gone|come|begun) (?!through\b|from\b)/gi, 'has left, arrived, started']
]

/** Matches a comment that begins with a relative clause. */
const CLAUSE = /^(?:What|Who|Whose|That which|Those which)\b(?![^.]*\?)/

const NAMES = /\b(?:MOST|LONGEST|LEAST|DEEPEST|FEWEST|SHORTEST)_[A-Z][A-Z_]*\b/g

const SKIPPED =
  /(?:^|\/)(?:fixtures|models|dist|vendor|golden|corpus|recorded)\/|^LICENSE|^tools\/style-count\.mjs$|\.tsbuildinfo$/
const CODE = /\.(?:ts|tsx|mts|mjs|cjs|js)$/

const REGEX_BEFORE =
  /(?:^|[=(,:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|do|else|void|delete|throw|await|yield))$/

/** Returns the comments and strings of a source file, each with its line. */
export function textsOf(source) {
  const texts = []
  let line = 1
  let at = 0
  let before = ''
  const braces = []
  const lines = text => text.split('\n').length - 1
  const push = (kind, text, from) => texts.push({ kind, text, line: from })
  /** Reads the rest of a template literal up to its end or the next substitution. */
  const template = () => {
    const from = at
    const start = line
    while (at < source.length) {
      const c = source[at]
      if (c === '\\') at += 2
      else if (c === '`') {
        push('string', source.slice(from, at), start)
        line += lines(source.slice(from, at))
        at++
        before = '"'
        return
      } else if (c === '$' && source[at + 1] === '{') {
        push('string', source.slice(from, at), start)
        line += lines(source.slice(from, at))
        at += 2
        braces.push('`')
        before = '{'
        return
      } else at++
    }
  }
  while (at < source.length) {
    const c = source[at]
    if (c === '\n') {
      line++
      at++
    } else if (/\s/.test(c)) at++
    else if (source.startsWith('//', at)) {
      const from = line
      let text = ''
      for (;;) {
        const end = source.indexOf('\n', at)
        const stop = end < 0 ? source.length : end
        text += `${source.slice(at + 2, stop)}\n`
        const next = /^\n[ \t]*\/\//.exec(source.slice(stop, stop + 200))
        at = stop
        if (next === null) break
        line++
        at += next[0].length - 2
      }
      push('comment', text, from)
    } else if (source.startsWith('/*', at)) {
      const end = source.indexOf('*/', at + 2)
      const stop = end < 0 ? source.length : end + 2
      const raw = source.slice(at + 2, stop - 2)
      push('comment', raw.replace(/^\*/, '').replace(/^[ \t]*\*/gm, ''), line)
      line += lines(raw)
      at = stop
    } else if (c === '"' || c === "'") {
      let end = at + 1
      while (end < source.length && source[end] !== c && source[end] !== '\n') end += source[end] === '\\' ? 2 : 1
      push('string', source.slice(at + 1, end), line)
      at = end + 1
      before = '"'
    } else if (c === '`') {
      at++
      template()
    } else if (c === '/' && REGEX_BEFORE.test(before)) {
      let end = at + 1
      let set = false
      while (end < source.length && source[end] !== '\n' && (set || source[end] !== '/')) {
        if (source[end] === '\\') end++
        else if (source[end] === '[') set = true
        else if (source[end] === ']') set = false
        end++
      }
      at = end + 1
      before = '"'
    } else if (c === '{') {
      braces.push('{')
      before = '{'
      at++
    } else if (c === '}') {
      at++
      if (braces.pop() === '`') template()
      else before = '}'
    } else {
      const word = /^[\w$]+/.exec(source.slice(at, at + 100))?.[0] ?? c
      if (NAMES.test(word)) texts.push({ kind: 'name', text: word, line })
      NAMES.lastIndex = 0
      before = word
      at += word.length
    }
  }
  return texts
}

function findings(path) {
  const source = readFileSync(`${root}/${path}`, 'utf8')
  const texts = CODE.test(path) ? textsOf(source) : documentTexts(source)
  const found = []
  for (const { kind, text, line } of texts) {
    const prose = kind === 'name' ? '' : text.replace(/`[^`\n]*`/g, it => ' '.repeat(it.length))
    if (kind === 'string' && !/\w \w/.test(text)) continue
    for (const [pattern, instead] of TURNS) {
      for (const match of prose.matchAll(pattern)) {
        const at = line + prose.slice(0, match.index).split('\n').length - 1
        found.push({ path, line: at, turn: match[0].replace(/\s+/g, ' '), instead })
      }
    }
    const first = text.trim()
    if (kind === 'comment' && CLAUSE.test(first)) {
      found.push({
        path,
        line,
        turn: `${first.slice(0, 40).replace(/\s+/g, ' ')}…`,
        instead: 'begin with a verb or a noun'
      })
    }
    if (kind === 'name') found.push({ path, line, turn: text, instead: 'MAX_ or MIN_, with a unit' })
  }
  return found
}

/** Returns the prose of a document, without fenced code. */
function documentTexts(source) {
  const blank = source.replace(/^( *)(```|~~~)[\s\S]*?^ *\2[^\n]*$/gm, it => it.replace(/[^\n]/g, ' '))
  return [{ kind: 'document', text: blank, line: 1 }]
}

const words = process.argv.slice(2)
const list = words.includes('--list')
const paths = words.filter(it => it !== '--list')
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...paths], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 1 << 26
})
const files = tracked
  .split('\n')
  .filter(it => (CODE.test(it) || it.endsWith('.md')) && !SKIPPED.test(it) && existsSync(`${root}/${it}`))
const all = files.flatMap(findings)
const count = new Map()
for (const { path } of all) {
  const folder = path
    .split('/')
    .slice(0, path.startsWith('plugins/') || path.startsWith('kernel/') ? 2 : 1)
    .join('/')
  count.set(folder, (count.get(folder) ?? 0) + 1)
}
if (list || (all.length > 0 && all.length <= 50)) {
  for (const { path, line, turn, instead } of all) console.log(`${path}:${line}: "${turn}": ${instead}`)
}
for (const [folder, n] of [...count].sort((a, b) => b[1] - a[1])) console.log(`${String(n).padStart(6)}  ${folder}`)
console.log(`${all.length} forbidden turns in ${files.length} files`)
if (all.length > 0) process.exitCode = 1
