// Lists the tools of a gateway, builds a form from a tool's schema, and calls the tool. Data from the server enters the
// page as text, never as markup.

const TOKEN = 'svc-token'
const MAX_EVENTS = 50
const RETRY_MS = 3000
/** The view to sign in says it; it is no problem. */
const TOKEN_REQUIRED = new Error('This gateway requires a token.')

const part = id => document.getElementById(id)
const [signIn, token, problem, toolsView, filter, list] = [
  'sign-in',
  'token',
  'problem',
  'tools',
  'filter',
  'list'
].map(part)
const [toolView, form, result, link] = ['tool', 'arguments', 'result', 'link'].map(part)
let tools = []
let socket = null
let events = 0

/** Creates an element with properties and children; strings become text nodes. */
function element(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties)
  node.append(...children.filter(child => child !== null))
  return node
}

async function ask(path, body) {
  const held = sessionStorage.getItem(TOKEN)
  const headers = held === null ? {} : { authorization: `Bearer ${held}` }
  const post = {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { ...headers, 'content-type': 'application/json' }
  }
  const response = await fetch(path, body === undefined ? { headers } : post)
  if (response.status === 401) {
    sessionStorage.removeItem(TOKEN)
    show(signIn)
    throw held === null ? TOKEN_REQUIRED : new Error('The token is wrong.')
  }
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.error)
  return answer
}

function show(view) {
  for (const each of [signIn, toolsView, toolView]) each.hidden = each !== view
  problem.hidden = true
}

function complain(error) {
  if (error === TOKEN_REQUIRED) return
  problem.textContent = error.message
  problem.hidden = false
}

async function load() {
  try {
    const answer = await ask('/v1/tools')
    tools = answer.tools
    show(toolsView)
    renderList()
    openSocket()
  } catch (error) {
    complain(error)
  }
}

function renderList() {
  const wanted = filter.value.trim().toLowerCase()
  const shown = tools.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(wanted))
  list.replaceChildren(
    ...shown.map(tool => {
      const [summary] = tool.description.split('\n', 1)
      const button = element('button', { type: 'button' }, tool.name, element('small', { textContent: summary }))
      button.addEventListener('click', () => openTool(tool))
      return element('li', {}, button)
    })
  )
  if (shown.length === 0) list.append(element('li', { className: 'empty', textContent: 'No tool.' }))
}

function openTool(tool) {
  show(toolView)
  part('name').textContent = tool.name
  part('description').textContent = tool.description
  result.hidden = true
  const { properties = {}, required = [] } = tool.input_schema
  const fields = Object.entries(properties).map(([name, schema]) => fieldFor(name, schema, required.includes(name)))
  const call = element('button', { className: 'primary', textContent: 'Call' })
  form.replaceChildren(...fields.map(({ node }) => node), call)
  form.onsubmit = event => {
    event.preventDefault()
    void callTool(tool, fields)
  }
  scrollTo(0, 0)
}

/** Returns the element of a field, with a function that reads it; undefined means that the argument is omitted. */
function fieldFor(name, schema, needed) {
  const id = `argument-${name}`
  const label = element('label', { htmlFor: id }, name, needed ? element('span', { className: 'needed' }, ' *') : null)
  const input = inputFor(schema)
  input.id = id
  input.required = needed
  const about = typeof schema.description === 'string' ? element('small', {}, schema.description) : null
  return {
    name,
    needed,
    node: element('div', { className: 'field' }, label, input, about),
    read: () => readInput(input, schema, name)
  }
}

function inputFor(schema) {
  const { type, enum: choices, default: initial } = schema
  if (Array.isArray(choices)) {
    const options = choices.map(choice =>
      element('option', { value: JSON.stringify(choice), textContent: String(choice) })
    )
    const select = element('select', {}, element('option', { value: '', textContent: '' }), ...options)
    if (initial !== undefined) select.value = JSON.stringify(initial)
    return select
  }
  if (type === 'boolean') {
    const options = ['', 'true', 'false'].map(value => element('option', { value, textContent: value }))
    const select = element('select', {}, ...options)
    if (initial !== undefined) select.value = String(initial)
    return select
  }
  const value = initial === undefined ? '' : typeof initial === 'string' ? initial : JSON.stringify(initial)
  if (type === 'integer' || type === 'number') return element('input', { type: 'number', step: 'any', value })
  if (type === 'string' && !(schema.maxLength > 500)) return element('input', { type: 'text', value })
  return element('textarea', { value, placeholder: type === 'string' ? '' : 'JSON' })
}

function readInput({ value }, { type, enum: choices }, name) {
  if (value === '') return undefined
  if (type === 'string' && !Array.isArray(choices)) return value
  try {
    return JSON.parse(value)
  } catch {
    throw new Error(`${name}: not JSON`)
  }
}

async function callTool(tool, fields) {
  const button = form.querySelector('button:last-child')
  button.disabled = true
  problem.hidden = true
  try {
    const args = {}
    for (const { name, needed, read } of fields) {
      const value = read()
      if (value !== undefined) args[name] = value
      else if (needed) throw new Error(`${name} is required`)
    }
    const answer = await ask('/v1/tools/call', { name: tool.name, args })
    result.textContent = JSON.stringify(answer.result, null, 2)
    result.classList.toggle('failed', !answer.success)
    result.hidden = false
  } catch (error) {
    complain(error)
  }
  button.disabled = false
}

/** Opens the websocket for events; the page works without it. */
function openSocket() {
  if (socket !== null) return
  const mine = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/v1/ws`)
  socket = mine
  mine.addEventListener('open', () => {
    const held = sessionStorage.getItem(TOKEN)
    if (held !== null) mine.send(JSON.stringify({ type: 'auth', args: { token: held } }))
    mine.send(JSON.stringify({ id: 1, type: 'list_tools' }))
  })
  mine.addEventListener('message', ({ data }) => {
    const message = JSON.parse(data)
    if (message.type === 'list_tools_result') showConnection(true)
    if (message.type === 'agent_event') renderEvent(message.data)
  })
  mine.addEventListener('close', ({ code }) => {
    socket = null
    showConnection(false)
    if (code !== 4401) setTimeout(() => (toolsView.hidden && toolView.hidden) || openSocket(), RETRY_MS)
  })
}

function showConnection(isConnected) {
  link.textContent = isConnected ? 'connected' : 'not connected'
  link.classList.toggle('ok', isConnected)
}

function renderEvent({ timestamp_ms, kind: { type, ...facts } }) {
  events += 1
  part('activity').hidden = false
  part('event-count').textContent = String(events)
  const time = new Date(timestamp_ms).toLocaleTimeString()
  const shown = element('li', {}, `${time} ${type} `, element('small', { textContent: JSON.stringify(facts) }))
  part('events').prepend(shown)
  while (part('events').children.length > MAX_EVENTS) part('events').lastChild.remove()
}

signIn.addEventListener('submit', event => {
  event.preventDefault()
  sessionStorage.setItem(TOKEN, token.value.trim())
  token.value = ''
  void load()
})
filter.addEventListener('input', renderList)
part('back').addEventListener('click', () => show(toolsView))
navigator.serviceWorker?.register('/v1/mobile/worker.js', { scope: '/v1/mobile' }).catch(() => {
  // Without a service worker, as over plain HTTP from another machine, the page works but cannot be installed.
})
void load()
