import t from 'tap'
import { findings, summary } from './corpus.ts'
import { RIGHT } from './right-programs.ts'

for (const [topic, sources] of Object.entries(RIGHT)) {
  t.test(`right programs have no finding: ${topic}`, async t => {
    for (const source of sources) {
      t.same(
        findings(source).map(each => summary(each, source)),
        [],
        source
      )
    }
  })
}
