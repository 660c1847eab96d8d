/**
 * Returns a script for the head of a page. If the page is opened from a file, it makes links, styles and images relative;
 * they begin with the base path of the server otherwise.
 */
export function fromFile(root: string, base: string): string {
  return `if (location.protocol === 'file:') {
  document.documentElement.classList.add('from-file')
  const [root, base] = ${JSON.stringify([root, base])}
  document.addEventListener('DOMContentLoaded', () => {
    for (const name of ['href', 'src'])
      for (const element of document.querySelectorAll('[' + name + '^="' + base + '"]'))
        element.setAttribute(name, root + element.getAttribute(name).slice(base.length).replace(/(^|\\/)(?=#|$)/, '$1index.html'))
  })
}`
}
