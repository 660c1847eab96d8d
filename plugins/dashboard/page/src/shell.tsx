import type { ComponentChild } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { signOut } from './api.ts'
import { titleOf } from './format.ts'
import { Help } from './help.tsx'
import { menu, SECTIONS } from './menu.ts'
import { CurrentPage, pageTitle } from './page.tsx'
import { Palette } from './palette.tsx'
import { Icon } from './parts.tsx'
import { path } from './router.ts'
import { chooseTheme, connection, consoleState, dismissToast, inboxCount, session, theme, toasts } from './state.ts'

/** Frame of the console: menu, header and the open page. */
export function Shell() {
  const [menuOpen, setMenuOpen] = useState(false)
  const [palette, setPalette] = useState(false)
  const [help, setHelp] = useState(false)
  const content = useRef<HTMLElement>(null)
  const { text, parent } = pageTitle.value
  const count = inboxCount.value

  useEffect(() => {
    const name = parent === null ? text : `${text} · ${parent.title}`
    document.title = `${count > 0 ? `(${count}) ` : ''}${name} · svc`
  }, [text, parent?.title, count])
  useEffect(() => {
    setMenuOpen(false)
    content.current?.scrollTo(0, 0)
  }, [path.value])
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        setPalette(true)
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
      if (event.key === '/') focusFilter(event)
      else if (event.key === '?') setHelp(true)
      else if (event.key === 'j' || event.key === 'k') focusRows(event)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])

  const { project, version, generation, broken } = consoleState.value ?? {}
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => content.current?.focus()}>
        Skip to the page
      </button>
      <nav class={`side ${menuOpen ? 'open' : ''}`} aria-label="pages">
        <div class="brand">
          <b>svc</b>
          <span class="dim small" title={`svc ${version}, generation ${generation}`}>
            {project}
          </span>
        </div>
        {SECTIONS.map(({ id, title: name }) => {
          const items = menu.value.filter(({ section }) => section === id)
          return items.length === 0 ? null : (
            <>
              <h2 id={`section-${id}`}>{name}</h2>
              {items.map(({ to, icon, title: label }) => (
                <a key={to} href={to} aria-current={isCurrent(to) || parent?.to === to ? 'page' : undefined}>
                  <Icon name={icon} />
                  {label}
                  {to === '/ui/inbox' && count > 0 ? <span class="count">{count}</span> : null}
                </a>
              ))}
            </>
          )
        })}
      </nav>
      <div class="main">
        <header class="top">
          <h1 title={text}>
            {parent === null ? null : (
              <>
                <a class="parent" href={parent.to}>
                  {parent.title}
                </a>
                <span class="dim"> / </span>
              </>
            )}
            {text}
          </h1>
          <span class="grow" />
          {session.value?.readOnly === true ? <span class="badge warn">read-only</span> : null}
          {session.value?.role === 'owner' ? null : <span class="badge">{session.value?.role}</span>}
          <span class="row hide-narrow small dim" role="status">
            <span class={`dot ${connection.value === 'open' ? 'ok' : 'warn'}`} />
            {connection.value === 'open' ? 'live' : connection.value === 'lost' ? 'reconnecting' : 'connecting'}
          </span>
          <button type="button" class="hide-narrow" onClick={() => setPalette(true)}>
            <Icon name="search" />
            Search
            <kbd class="small dim">Ctrl K</kbd>
          </button>
          <button
            type="button"
            class="plain"
            aria-label={theme.value === 'dark' ? 'Use the light theme' : 'Use the dark theme'}
            onClick={() => chooseTheme(theme.value === 'dark' ? 'light' : 'dark')}
          >
            <Icon name={theme.value === 'dark' ? 'sun' : 'moon'} />
          </button>
          <button type="button" class="plain hide-narrow" aria-label="Keyboard shortcuts" onClick={() => setHelp(true)}>
            <Icon name="circle-question-mark" />
          </button>
          <button type="button" class="plain" aria-label="Sign out" onClick={() => void signOut()}>
            <Icon name="log-out" />
          </button>
        </header>
        <main class="content" id="content" tabIndex={0} ref={content}>
          {connection.value === 'lost' ? (
            <div class="notice warn" role="status">
              <Icon name="triangle-alert" />
              <span>The connection to svc is lost. The page shows the last known state and reconnects by itself.</span>
            </div>
          ) : null}
          {broken === undefined || broken.length === 0 || path.value !== '/' ? null : (
            <div class="notice warn">
              <Icon name="triangle-alert" />
              <div>
                {broken.map(({ plugin, point, entry, reason }) => (
                  <div key={`${plugin} ${point} ${entry}`}>
                    {`${plugin}: the ${titleOf(point).toLowerCase().replace(/s$/, '')} ${entry} is not shown: ${reason}`}
                  </div>
                ))}
              </div>
            </div>
          )}
          <CurrentPage />
        </main>
      </div>
      <nav class="bottom" aria-label="main pages">
        <BottomLink to="/" icon="layout-dashboard" title="Overview" />
        <BottomLink to="/ui/inbox" icon="inbox" title="Inbox" count={count} />
        <BottomLink
          to={menu.value.find(each => each.to.endsWith('/tasks'))?.to ?? '/ui/plugins'}
          icon="list-checks"
          title="Tasks"
        />
        <button type="button" onClick={() => setPalette(true)}>
          <Icon name="search" />
          Search
        </button>
        <button type="button" aria-expanded={menuOpen} onClick={() => setMenuOpen(!menuOpen)}>
          <Icon name="menu" />
          Menu
        </button>
      </nav>
      {palette ? <Palette onClose={() => setPalette(false)} /> : null}
      {help ? <Help onClose={() => setHelp(false)} /> : null}
      <div class="toasts" role="status">
        {toasts.value.map(({ id, tone, text: message, hint }) => (
          <div key={id} class={`notice ${tone}`}>
            <div class="grow">
              {message}
              {hint === undefined ? null : <div class="small">{hint}</div>}
            </div>
            <button type="button" class="plain compact" aria-label="Dismiss" onClick={() => dismissToast(id)}>
              <Icon name="x" />
            </button>
          </div>
        ))}
      </div>
    </div>
  )
}

function BottomLink({
  to,
  icon,
  title,
  count = 0
}: {
  readonly to: string
  readonly icon: 'layout-dashboard' | 'inbox' | 'list-checks'
  readonly title: string
  readonly count?: number
}): ComponentChild {
  return (
    <a href={to} aria-current={isCurrent(to) ? 'page' : undefined}>
      <Icon name={icon} />
      {title}
      {count > 0 ? <span class="count">{count}</span> : null}
    </a>
  )
}

function isCurrent(to: string): boolean {
  const { value } = path
  return value === to || (to !== '/' && value.startsWith(`${to}/`))
}

function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable="true"]') !== null
}

function focusFilter(event: KeyboardEvent): void {
  const filter = document.querySelector<HTMLElement>('[data-filter]')
  if (filter === null) return
  event.preventDefault()
  filter.focus()
}

/** Moves into the first table of the page, so that j and k work without a click. */
function focusRows(event: KeyboardEvent): void {
  if ((event.target as HTMLElement).closest('[data-rows], [role="tablist"]') !== null) return
  document.querySelector<HTMLElement>('[data-rows]')?.focus()
}
