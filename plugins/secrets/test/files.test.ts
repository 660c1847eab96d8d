import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { CommandIo } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { AuthFile, envLine, parseEnv, readSecret } from '#root'

t.test('any value without line breaks survives a line of a file', t => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter(each => !/[\r\n]/.test(each))
  fc.assert(
    fc.property(text, value => {
      const line = envLine('KEY', value)
      return line !== null && parseEnv(`# comment\n${line}\n`, 'x').get('KEY') === value
    }),
    { examples: [['a"b\\c'], [' # '], ['$HOME'], ["'"], ['\\n']] }
  )
  t.equal(envLine('KEY', 'a\nb'), null)
  t.end()
})

t.test('reads the usual forms of lines', t => {
  const text = '\uFEFF# c\nA=1\r\nexport B = two words # note\nC="x # \\"y\\"\\n" # note\nD=\'a"b\'\n\nE=\nA=2\nF=a#b\n'
  t.same(Object.fromEntries(parseEnv(text, 'x')), {
    A: '2',
    B: 'two words',
    C: 'x # "y"\n',
    D: 'a"b',
    E: '',
    F: 'a#b'
  })
  t.end()
})

t.test('a value with a long run of spaces is parsed in linear time', t => {
  const value = `a${' '.repeat(1_000_000)}b`
  t.equal(parseEnv(`A=${value} # note`, 'x').get('A'), value)
  t.end()
})

t.test('any text is parsed or is an error with a line number and without the text', t => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), text => {
      try {
        parseEnv(`${text}\nSECRET swordfish`, 'file.env')
      } catch (error) {
        const { code, message } = error as Error & { code: string }
        return code === 'SCR_FILE_INVALID' && /^file\.env:\d+: /.test(message) && !message.includes('swordfish')
      }
      return false
    })
  )
  t.end()
})

t.test('entries of the auth file are changed without losing others, and only the user may read it', async t => {
  const path = join(t.testdir(), 'new', 'auth.json')
  const file = new AuthFile(path)
  t.same([...file.entries()], [])
  await file.set('forge', { token: 'one', username: 'me' })
  t.equal(statSync(path).mode & 0o777, 0o600)
  await Promise.all(Array.from({ length: 10 }, (_, at) => new AuthFile(path).set(`r${at}`, { token: `t${at}` })))
  await file.set('forge', { token: 'two' })
  t.equal(file.entries().size, 11)
  t.same(file.entries().get('forge'), { token: 'two', username: 'me' })
  t.notOk(existsSync(`${path}.lock`))
  chmodSync(path, 0o644)
  t.match(file.warnings(), [/chmod 600/])
})

t.test('an invalid auth file is an error without its text, and is left as it is', async t => {
  for (const content of ['{"registries": swordfish', '[]', '{"registries": "swordfish"}']) {
    const path = join(t.testdir({ 'auth.json': content }), 'auth.json')
    const file = new AuthFile(path)
    const error = await file.set('forge', { token: 'x' }).catch((caught: unknown) => caught)
    t.match(error, { code: 'SEC_STORE_FAILED', message: /auth\.json/ })
    t.notMatch(String(error), /swordfish/)
    t.equal(readFileSync(path, 'utf8'), content)
  }
  const path = join(
    t.testdir({ 'auth.json': '{"other": 1, "registries": {"a": {"token": "x", "more": 2}}}' }),
    'auth.json'
  )
  await new AuthFile(path).set('a', { token: 'y' })
  t.same(JSON.parse(readFileSync(path, 'utf8')), { other: 1, registries: { a: { token: 'y', more: 2 } } })
})

function terminal() {
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    raw: [] as boolean[],
    setRawMode(on: boolean) {
      stdin.raw.push(on)
    }
  })
  const shown: string[] = []
  const stderr = new PassThrough().on('data', data => shown.push(String(data)))
  return { stdin, shown, io: { stdin, stderr, signal: new AbortController().signal } as unknown as CommandIo }
}

t.test('a secret is entered at a prompt without being shown', async t => {
  const { stdin, shown, io } = terminal()
  const entered = readSecret(io, 'token', undefined)
  stdin.write('swordx')
  stdin.write('\u007ffish\r')
  t.equal(await entered, 'swordfish')
  t.same(stdin.raw, [true, false])
  t.equal(shown.join(''), 'token: \n')
  const other = terminal()
  const aborted = readSecret(other.io, 'token', undefined)
  other.stdin.write('sword\u0003')
  await t.rejects(aborted, { code: 'SCR_ABORTED' })
  t.same(other.stdin.raw, [true, false])
})

t.test('a secret is read from standard input or a file, without the line break at its end', async t => {
  const io = (text: string): CommandIo => {
    const stdin = new PassThrough()
    stdin.end(text)
    return { stdin, stderr: new PassThrough(), signal: new AbortController().signal } as unknown as CommandIo
  }
  t.equal(await readSecret(io('sword fish\r\n'), 'x', undefined), 'sword fish')
  t.equal(await readSecret(io('two\nlines\n'), 'x', undefined), 'two\nlines')
  const file = join(t.testdir({ value: 'from a file\n' }), 'value')
  t.equal(await readSecret(io(''), 'x', file), 'from a file')
  for (const text of ['', ' \n', 'x'.repeat(70_000)]) {
    const error = await readSecret(io(text), 'x', undefined).catch((caught: unknown) => caught)
    t.match(error, { code: 'SCR_INPUT_INVALID' })
  }
  if (process.platform !== 'win32') await t.rejects(readSecret(io(''), 'x', '/dev/zero'), { code: 'SCR_INPUT_INVALID' })
  await t.rejects(readSecret(io(''), 'x', `${file}.missing`), { code: 'SCR_FILE_INVALID' })
})
