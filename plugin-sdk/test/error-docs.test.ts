import { errorDocs, errorTable, isOwnCode } from '@svc/plugin-sdk'
import t from 'tap'

t.test('an error of svc names the heading of its code', t => {
  t.match(errorDocs({ code: 'HTTP_NOT_FOUND' }), /^https:\/\/.*\/docs\/reference\/errors\.md#http_not_found$/)
  t.ok(isOwnCode('HTTP_NOT_FOUND'))
  t.end()
})

t.test('an error of another author names the page of its table, or none', t => {
  const specs = { ACME_LOST: { message: 'It is lost.', status: 404 } }
  const { docs, status } = errorTable(specs, { docs: 'https://acme.example/errors' }).create('ACME_LOST', 'lost')
  t.equal(docs, 'https://acme.example/errors#acme_lost')
  t.equal(status, 404)
  t.equal(errorDocs({ code: 'ACME_LOST', docs: docs ?? '' }), docs)
  t.equal(errorDocs(errorTable(specs).create('ACME_LOST', 'lost')), undefined)
  t.notOk(isOwnCode('ENOENT'))
  t.end()
})
