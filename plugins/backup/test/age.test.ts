import t from 'tap'
import { ByteReader, decrypt, encrypt, generateKeys, parseIdentities, parseRecipient } from '#root'

const IDENTITY = 'AGE-SECRET-KEY-10PNMH09AFN9QMZXJ4J9A5XSW2HZCHL648FJP095WPYHXWVG37PJQRCYURD'
/** Files with the text `a file of age`: one that the program age wrote, and one that its library for JavaScript wrote. */
const BY_RECIPIENT =
  'YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSAxWHNLdVZlVVBvNmM3dDVXajdxV3VVY2FDSXBkc2tIR0FvWThwSzJHUkJBCkUrc0dBM2J0MGphYk40eGR5RnBwQ0FMcTNiR1RQbFkwb0J0NjNGd3N2Y3MKLS0tIGlTZVJiUGM1b0VwWGswNUNBTzVvR0JiY3RhVENFMjVOTDQ4WVJHYWxxYnMKuHZlT64lUcTMBUDwebJFvmHY/c8ERjifo8UngGyQkNh5Y6R+dI9vxFq9zEUdRQ=='
const BY_PASSPHRASE =
  'YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCBWUDU3WHZBSnJrTXhFcnovVGpVL1lBIDEwCmJzZWEzTDJjNHpDOTRoSUIxSElwRXVJSzI1bjdDMGtqdS9YUHpadlNZNmsKLS0tIFJmMWdvQk9GTWJKVy96bEpGZzZTRTZLZXNFT2NpWHRUeHFibVE4eURGa28KRfWkL0h/5sC0I289fN7ioGpyuhcdG4gbBk10iU/TCF0cpefywZEYAxHXx/ZweQ=='
const PASSPHRASE = 'correct horse battery'

type Keys = Parameters<typeof decrypt>[1]

async function* pieces(content: Buffer, size = 10_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

async function all(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of source) parts.push(part)
  return Buffer.concat(parts)
}

const opened = (file: Buffer, keys: Keys, size?: number): Promise<Buffer> =>
  all(decrypt(new ByteReader(pieces(file, size)), keys))

const identities = parseIdentities(`# made by age-keygen\n${IDENTITY}\n`, 'key')

t.test('files of age are opened by identity and by passphrase', async t => {
  t.equal(String(await opened(Buffer.from(BY_RECIPIENT, 'base64'), { identities })), 'a file of age\n')
  t.equal(
    String(await opened(Buffer.from(BY_PASSPHRASE, 'base64'), { identities: [], passphrase: PASSPHRASE }, 1)),
    'a file of age\n'
  )
})

t.test('what is encrypted opens again, whatever its size', async t => {
  const { identity, recipient } = await generateKeys()
  const keys = { identities: [...identities, ...parseIdentities(identity, 'key')] }
  for (const bytes of [0, 1, 65_535, 65_536, 65_537, 131_072, 200_001]) {
    const content = Buffer.alloc(bytes, 'content ')
    const file = await all(encrypt(pieces(content), { recipients: [parseRecipient(recipient)] }))
    t.ok((await opened(file, keys)).equals(content), `${bytes} bytes`)
  }
})

t.test('a shortened, changed or lengthened file is refused', async t => {
  const { identity, recipient } = await generateKeys()
  const keys = { identities: parseIdentities(identity, 'key') }
  const file = await all(encrypt(pieces(Buffer.alloc(140_000)), { recipients: [parseRecipient(recipient)] }))
  const header = file.indexOf('\n--- ') + 50
  const changed = (at: number): Buffer => {
    const copy = Buffer.from(file)
    copy[at] = (copy[at] ?? 0) ^ 1
    return copy
  }
  const lastChunk = header + 16 + 2 * 65_552
  const broken = [
    file.subarray(0, lastChunk),
    file.subarray(0, file.length - 1),
    Buffer.concat([file, Buffer.alloc(1)]),
    changed(file.length - 1),
    changed(header + 100),
    changed(file.indexOf('\n--- ') + 10),
    file.subarray(0, 30)
  ]
  for (const each of broken) await t.rejects(opened(each, keys), { code: 'BKP_DAMAGED' })
})

t.test('a missing or wrong key has its own error', async t => {
  const recipient = Buffer.from(BY_RECIPIENT, 'base64')
  const passphrase = Buffer.from(BY_PASSPHRASE, 'base64')
  const other = parseIdentities((await generateKeys()).identity, 'key')
  await t.rejects(opened(recipient, { identities: [] }), { code: 'BKP_KEY_REQUIRED', hint: /--identity/ })
  await t.rejects(opened(recipient, { identities: other }), { code: 'BKP_KEY_WRONG' })
  await t.rejects(opened(passphrase, { identities: other }), { code: 'BKP_KEY_REQUIRED', hint: /--passphrase-file/ })
  await t.rejects(opened(passphrase, { identities: [], passphrase: 'another passphrase' }), { code: 'BKP_KEY_WRONG' })
})

t.test('a passphrase that costs too much is refused before it is computed', async t => {
  const text = Buffer.from(BY_PASSPHRASE, 'base64').toString('latin1').replace(/ 10\n/, ' 30\n')
  const keys = { identities: [], passphrase: PASSPHRASE }
  await t.rejects(opened(Buffer.from(text, 'latin1'), keys), { code: 'BKP_DAMAGED', message: /2\^30/ })
})

t.test('keys that are none are refused, and never shown', async t => {
  t.throws(() => parseRecipient('age1nothing'), { code: 'BKP_KEY_INVALID' })
  const wrong = IDENTITY.replace(/.$/, IDENTITY.endsWith('D') ? 'E' : 'D')
  t.throws(() => parseIdentities(wrong, 'key.txt'), { code: 'BKP_KEY_INVALID', message: /^key\.txt:1 / })
  t.throws(() => parseIdentities('# only a comment\n', 'key.txt'), { code: 'BKP_KEY_INVALID' })
})
