import t from 'tap'
import { apiJson } from '#workflows'

t.test('a stored value is shown in the form in which the API answers', t => {
  const cases: [stored: string, shown: string][] = [
    ['{"$tag":["Ok",[3]]}', '{"_tag":"Ok","value":3}'],
    ['{"$tag":["Error",["no"]]}', '{"_tag":"Err","value":"no"}'],
    ['{"$tag":["None",[]]}', 'null'],
    ['{"$tag":["Paid",[{"$int":"9007199254740993"}],["cents"]]}', '{"_tag":"Paid","cents":9007199254740993}'],
    ['{"$tuple":["Ada",{"$float":1.5}]}', '["Ada",1.5]'],
    ['{"$record":[["1",true]]}', '{"1":true}'],
    ['{"$actor":["Cart","c1",[]]}', '{"actor":"Cart","id":"c1"}'],
    ['["Ada",900]', '["Ada",900]']
  ]
  for (const [stored, shown] of cases) t.equal(apiJson(stored), shown)
  t.end()
})

t.test('a text of another format stays as it is', t => {
  for (const text of ['{"$new":[1]}', 'no JSON', '"']) t.equal(apiJson(text), text)
  t.end()
})
