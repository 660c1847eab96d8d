import t from 'tap'
import { nearRoute } from '#serving'

const routes = [
  { method: 'GET', path: '/api/query/tasks' },
  { method: 'POST', path: '/api/mutation/add_task' },
  { method: 'GET', path: '/tasks/:id' }
]

t.test('the most similar route is suggested, if there is one', t => {
  t.equal(nearRoute('/api/query/task', routes)?.path, '/api/query/tasks')
  t.equal(nearRoute('/api/add_task', routes)?.path, '/api/mutation/add_task')
  t.equal(nearRoute('/task/7', routes)?.path, '/tasks/:id')
  t.equal(nearRoute('/elsewhere', routes), null)
  t.end()
})

t.test('a long path gets no suggestion', t => {
  t.equal(nearRoute(`/task/${'7'.repeat(8000)}`, routes), null)
  t.end()
})
