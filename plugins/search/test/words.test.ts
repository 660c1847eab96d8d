import fc from 'fast-check'
import t from 'tap'
import { singular, wordForms } from '#plan'

const PAIRS =
  `alias aliases; array arrays; box boxes; branch branches; bus buses; cache caches; case cases; class classes;
  cookie cookies; database databases; file files; gateway gateways; hash hashes; house houses; key keys; lease leases;
  lens lenses; match matches; process processes; query queries; response responses; retry retries; schema schemas;
  size sizes; status statuses; tie ties; use uses`
    .split(';')
    .map(pair => pair.trim().split(' ') as [string, string])

t.test('singular and plural of a noun share a form, and each finds the other', async t => {
  for (const [one, many] of PAIRS) {
    t.equal(singular(many), singular(one), many)
    t.ok(wordForms(one).includes(many), `${one} finds ${many}`)
    t.ok(wordForms(many).includes(one), `${many} finds ${one}`)
  }
})

t.test('a very long word is its own form', async t => {
  const long = 'es'.repeat(100_000)
  t.equal(singular(long), long)
})

t.test('the shared form of any word has no other one, and its forms are few and contain it', async () => {
  const word = fc.stringMatching(/^[a-z]{0,8}(?:s|es|ies|ie|e|x|ch|y|ss|us)?$/)
  fc.assert(
    fc.property(word, word => {
      const form = singular(word)
      const forms = wordForms(word)
      return singular(form) === form && forms[0] === word && forms.length <= 6
    })
  )
})
