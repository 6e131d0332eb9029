// Opens the viewer's page, and posts what that page says when it comes back. It rests first, for longer than browsers keep the page's
// files.

const back = location.search.slice(1);
if (back) await fetch('result', { method: 'POST', body: back });
const { content } = document.querySelector('meta[name=next]');
setTimeout(() => location.assign(content), 11_000);
