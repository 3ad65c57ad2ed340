// The search, the menu of versions and the buttons that copy commands. Without it, all pages can be read.
const root = new URL('.', document.querySelector('link[rel=search-index]').href)
const query = document.getElementById('query')
const panel = document.getElementById('panel')
const results = document.getElementById('results')
const MOST = 20

let index
async function load() {
  index ??= fetch(new URL('search.json', root)).then((response) => response.json()).then((entries) => entries.map((entry) => ({
    ...entry,
    keys: entry.keys.toLowerCase(), titles: entry.title.toLowerCase(), headings: entry.heading.toLowerCase(), texts: entry.text.toLowerCase(),
  })))
  return index
}

// score says how well an entry has a word: in the heading, in the title, in what a table explains, or in the text, as a
// whole word or not. 0 means that it has not.
function score(entry, word) {
  let points = 0
  if (entry.headings.includes(word)) points += 8
  if (entry.titles.includes(word)) points += 5
  if (entry.keys.includes(word)) points += 4
  const at = entry.texts.indexOf(word)
  if (at >= 0) points += /\w/.test(entry.texts[at + word.length] ?? ' ') ? 1 : 3
  return points
}

function find(entries, words) {
  const found = []
  for (const entry of entries) {
    const points = words.map((word) => score(entry, word))
    if (points.every((p) => p > 0)) found.push({ entry, points: points.reduce((a, b) => a + b) })
  }
  return found.sort((a, b) => b.points - a.points)
}

// excerpt returns a part of a text, with the words marked.
function excerpt(text, words) {
  const lower = text.toLowerCase()
  const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0), text.length)
  const start = first === text.length ? 0 : Math.max(0, first - 60)
  const part = text.slice(start, start + 180)
  const line = document.createElement('span')
  if (start > 0) line.append('… ')
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[^\w\s]/g, '\\$&')).join('|')})`, 'gi')
  part.split(pattern).forEach((piece, i) => {
    if (i % 2 === 0) { line.append(piece); return }
    const mark = document.createElement('mark')
    mark.textContent = piece
    line.append(mark)
  })
  line.append(' …')
  return line
}

async function show() {
  const text = query.value
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  panel.hidden = words.length === 0
  if (panel.hidden) return
  const found = find(await load(), words)
  if (query.value !== text) return // the reader typed on
  document.getElementById('count').textContent = found.length > MOST ? `The best ${MOST} of ${found.length} results` : `${found.length} results`
  results.replaceChildren(...found.slice(0, MOST).map(({ entry }) => {
    const link = document.createElement('a')
    link.href = new URL(entry.url, root)
    const title = document.createElement('strong')
    title.textContent = entry.heading ? `${entry.title}: ${entry.heading}` : entry.title
    link.append(title, excerpt(entry.text, words))
    const item = document.createElement('li')
    item.append(link)
    return item
  }))
}

query.disabled = false
query.addEventListener('focus', () => load())
query.addEventListener('input', show)
document.addEventListener('keydown', (event) => {
  const links = [query, ...results.querySelectorAll('a')]
  const at = links.indexOf(document.activeElement)
  if (event.key === '/' && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    query.focus()
  } else if (event.key === 'Escape' && !panel.hidden) {
    panel.hidden = true
    query.focus()
  } else if (!panel.hidden && at >= 0 && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
    links[Math.min(links.length - 1, Math.max(0, at + (event.key === 'ArrowDown' ? 1 : -1)))].focus()
  } else if (event.key === 'Enter' && document.activeElement === query) {
    results.querySelector('a')?.click()
  } else {
    return
  }
  event.preventDefault()
})
document.addEventListener('click', (event) => { if (!event.target.closest('search')) panel.hidden = true })

// Other versions of the site are in folders beside this one. A page that another version does not have leads to its start.
const versions = document.getElementById('versions')
fetch(new URL('../versions.json', root)).then((response) => response.json()).then((all) => {
  const own = versions.value
  versions.replaceChildren(...all.map((version) => new Option(version, version, false, version === own)))
}).catch(() => {}) // the site is read from files, or alone
versions.addEventListener('change', async () => {
  const other = new URL(`../${versions.value}/`, root)
  const page = new URL(location.href.slice(root.href.length), other)
  const there = await fetch(page, { method: 'HEAD' }).catch(() => ({ ok: false }))
  location.href = there.ok ? page : new URL('index.html', other)
})

for (const block of document.querySelectorAll('.commands')) {
  const button = document.createElement('button')
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    const text = block.querySelector('code').textContent
    const commands = text.split('\n').filter((line) => line.startsWith('$ ')).map((line) => line.slice(2))
    await navigator.clipboard.writeText(commands.length ? commands.join('\n') : text)
    button.textContent = 'Copied'
    setTimeout(() => { button.textContent = 'Copy' }, 2000)
  })
  block.append(button)
}

// On a narrow screen, the menu is closed at first. On a wide one, it shows the current page.
if (matchMedia('(max-width: 56rem)').matches) document.getElementById('menu').open = false
const current = document.querySelector('#menu [aria-current]')
if (current) {
  const menu = current.closest('nav')
  menu.scrollTop = current.offsetTop - menu.offsetTop - menu.clientHeight / 2
}
