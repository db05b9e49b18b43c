//! Speaking to a server on this machine, without anybody in between.
//!
//! An HTTP client for all the world gives each connection a task of its own: a request wakes it,
//! and it wakes whoever waits for the answer. For a server at the other end of a wire that is
//! nothing; for one on this machine it is most of what a request takes. Here the connection is
//! driven by the one who waits. There is no TLS and no proxy.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream};
use http::{HeaderValue, Request, Response, header::HOST};
use http_body_util::Full;
use hyper::{
    body::{Body as _, Incoming},
    client::conn::http1::{self, Connection, SendRequest},
};
use hyper_util::rt::TokioIo;
use loreloom_ports::bell::Bell;
use tokio::net::TcpStream;

use super::{Address, ClientRules, Reach};

/// Connections that wait for their next request, at the most.
const MOST_IDLE: usize = 32;

/// How long one waits and may still be used; it is closed when the next one is asked for or
/// given back. Servers keep them open for less or more: one that was closed meanwhile is not
/// used again.
const LONGEST_IDLE: Duration = Duration::from_secs(90);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("no connection within {} s", .0.as_secs_f64())]
    Late(Duration),
    #[error(transparent)]
    Connect(io::Error),
    #[error(transparent)]
    Http(#[from] hyper::Error),
}

/// The connections to one server.
pub(crate) struct Lines {
    place: (String, u16),
    host: HeaderValue,
    connect: Duration,
    idle: Mutex<Vec<(Box<Line>, Instant)>>,
}

/// One connection.
struct Line {
    sender: SendRequest<Full<Bytes>>,
    /// `None` once it has come to its end.
    connection: Option<Connection<TokioIo<TcpStream>, Full<Bytes>>>,
    bell: Bell,
}

/// What a request came to that was not answered: the request, if none of it was sent.
struct Unanswered(hyper::Error, Option<Box<Request<Full<Bytes>>>>);

impl Lines {
    /// Connections to a server; `None` if it is not one of this machine's, or asks for more than
    /// plain HTTP.
    pub(crate) fn to(address: &Address, rules: ClientRules) -> Option<Arc<Self>> {
        // What may only be public is judged when its name is looked up.
        let near = address.is_loopback() && rules.reach == Reach::Anywhere;
        if !near || address.is_encrypted() || address.has_credentials() {
            return None;
        }
        let host = HeaderValue::try_from(address.authority()).ok()?;
        let place = (address.host().to_owned(), address.port());
        Some(Arc::new(Self { place, host, connect: rules.connect, idle: Mutex::default() }))
    }

    /// Sends a request; returns once the head of the answer is there.
    pub(crate) async fn send(
        self: &Arc<Self>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Answer>, LineError> {
        request.headers_mut().insert(HOST, self.host.clone());
        while let Some(mut line) = self.take() {
            match line.ask(request).await {
                Ok(response) => return Ok(self.answer(line, response)),
                // It was closed at this moment.
                Err(Unanswered(_, Some(unsent))) => request = *unsent,
                Err(Unanswered(error, None)) => return Err(error.into()),
            }
        }
        let mut line = self.open().await?;
        match line.ask(request).await {
            Ok(response) => Ok(self.answer(line, response)),
            Err(Unanswered(error, _)) => Err(error.into()),
        }
    }

    fn answer(self: &Arc<Self>, line: Box<Line>, response: Response<Incoming>) -> Response<Answer> {
        response.map(|body| Answer { body, ended: false, line: Some(line), home: Arc::clone(self) })
    }

    /// A connection that waits and is still open.
    fn take(&self) -> Option<Box<Line>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((mut line, since)) = idle.pop() {
            if since.elapsed() < LONGEST_IDLE && line.is_free(&Context::from_waker(Waker::noop())) {
                return Some(line);
            }
        }
        None
    }

    /// Takes a connection back.
    fn put(&self, line: Box<Line>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // The oldest come first.
        let old = idle.partition_point(|(_, since)| since.elapsed() >= LONGEST_IDLE);
        let many = (idle.len() + 1).saturating_sub(MOST_IDLE);
        idle.drain(..old.max(many));
        idle.push((line, Instant::now()));
    }

    async fn open(&self) -> Result<Box<Line>, LineError> {
        let connecting = tokio::time::timeout(self.connect, self.reach()).await;
        let stream = connecting.map_err(|_late| LineError::Late(self.connect))?;
        let stream = stream.map_err(LineError::Connect)?;
        // A socket that refuses is only slower.
        drop(stream.set_nodelay(true));
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Box::new(Line { sender, connection: Some(connection), bell: Bell::default() }))
    }
}

impl Lines {
    /// Connects to whichever address of the server answers first: `localhost` has two, and a
    /// server may listen on one of them.
    async fn reach(&self) -> io::Result<TcpStream> {
        let (host, port) = &self.place;
        let addresses = tokio::net::lookup_host((host.as_str(), *port)).await?;
        let connecting: Vec<_> =
            addresses.map(|address| Box::pin(TcpStream::connect(address))).collect();
        if connecting.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        futures_util::future::select_ok(connecting).await.map(|(stream, _slower)| stream)
    }
}

impl Line {
    /// Polls what the connection is to bring, and the connection so that it does.
    fn poll<T>(
        &mut self,
        context: &Context<'_>,
        mut brought: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let Self { connection, bell, .. } = self;
        bell.poll(context, |context| {
            let polled = brought(context);
            let Some(driven) = connection.as_mut().filter(|_| polled.is_pending()) else {
                return polled;
            };
            // What went wrong is told to whoever waits for something.
            if driven.poll_unpin(context).is_ready() {
                // Dropped, it hands back a request that it has not begun.
                *connection = None;
            }
            brought(context)
        })
    }

    /// Whether it can take a request now.
    fn is_free(&mut self, context: &Context<'_>) -> bool {
        let idle = self.poll(context, |_| Poll::<()>::Pending).is_pending();
        idle && self.connection.is_some() && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of the answer.
    async fn ask(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Unanswered> {
        let mut answering = std::pin::pin!(self.sender.try_send_request(request));
        let answered = std::future::poll_fn(|context| {
            self.poll(context, |context| answering.as_mut().poll(context))
        });
        answered.await.map_err(|mut error| {
            let unsent = error.take_message().map(Box::new);
            Unanswered(error.into_error(), unsent)
        })
    }
}

/// The body of an answer. Whoever drops it before its end closes the connection, which tells the
/// server to stop.
pub(crate) struct Answer {
    body: Incoming,
    /// Whether the end was reached; a body that has a length says so itself.
    ended: bool,
    /// `None` once it is free for others.
    line: Option<Box<Line>>,
    home: Arc<Lines>,
}

impl Answer {
    /// Gives the connection back once all of the answer is there, whether or not somebody asks
    /// for more of it.
    fn release(&mut self, context: &Context<'_>) {
        if (self.ended || self.body.is_end_stream())
            && let Some(mut line) = self.line.take()
            && line.is_free(context)
        {
            self.home.put(line);
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.release(&Context::from_waker(Waker::noop()));
    }
}

impl Stream for Answer {
    type Item = Result<Bytes, hyper::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { body, line, .. } = &mut *self;
        let polled = match line {
            Some(line) => line.poll(context, |context| poll_body(body, context)),
            None => poll_body(body, context),
        };
        if let Poll::Ready(piece) = &polled {
            self.ended |= piece.is_none();
            self.release(context);
        }
        polled
    }
}

fn poll_body(
    body: &mut Incoming,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Bytes, hyper::Error>>> {
    loop {
        let Some(frame) = ready!(Pin::new(&mut *body).poll_frame(context)?) else {
            return Poll::Ready(None);
        };
        // Trailers belong to the connection.
        if let Ok(bytes) = frame.into_data() {
            return Poll::Ready(Some(Ok(bytes)));
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::{super::with_causes, *};

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
        1\r\no\r\n1\r\nk\r\n0\r\n\r\n";

    fn lines(listener: &TcpListener) -> Arc<Lines> {
        let address = format!("http://{}", listener.local_addr().unwrap());
        Lines::to(&Address::parse(&address).unwrap(), ClientRules::default()).unwrap()
    }

    async fn ask(lines: &Arc<Lines>) -> Result<Vec<u8>, LineError> {
        let answer = lines.send(Request::new(Full::default())).await?.into_body();
        let pieces: Vec<_> = answer.collect().await;
        let pieces: Result<Vec<Bytes>, _> = pieces.into_iter().collect();
        Ok(pieces?.concat())
    }

    /// Takes one request and says this; the connection closes with the result.
    async fn say(listener: &TcpListener, said: &[u8]) -> TcpStream {
        let (mut socket, _) = listener.accept().await.unwrap();
        assert!(socket.read(&mut [0; 1024]).await.unwrap() > 0);
        socket.write_all(said).await.unwrap();
        socket
    }

    /// Answers so many requests on one connection, which closes with the result.
    async fn answer(listener: &TcpListener, requests: usize) -> TcpStream {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        for at in 0..requests {
            assert!(socket.read(&mut request).await.unwrap() > 0);
            let answer = if at % 2 == 0 { ANSWER } else { CHUNKED };
            socket.write_all(answer).await.unwrap();
        }
        socket
    }

    #[tokio::test]
    async fn a_connection_is_used_again_until_its_server_closes_it() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let lines = lines(&listener);
        let asking = async {
            for _ in 0..4 {
                assert_eq!(ask(&lines).await.unwrap(), b"ok");
            }
        };
        let ((), socket) = tokio::join!(asking, answer(&listener, 4));
        assert_eq!(lines.idle.lock().unwrap().len(), 1);
        drop(socket);
        // The runtime hears of it when it next looks.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let again = tokio::join!(ask(&lines), answer(&listener, 1)).0;
        assert_eq!(again.unwrap(), b"ok", "over a new one");
    }

    #[tokio::test]
    async fn a_request_that_a_closed_connection_never_sent_is_given_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let lines = lines(&listener);
        let (answered, socket) = tokio::join!(ask(&lines), answer(&listener, 1));
        assert_eq!(answered.unwrap(), b"ok");
        let mut line = lines.take().unwrap();
        drop(socket);
        tokio::time::sleep(Duration::from_millis(20)).await;
        let asking = line.ask(Request::new(Full::default()));
        let asked = tokio::time::timeout(Duration::from_secs(10), asking).await.unwrap();
        assert!(matches!(asked, Err(Unanswered(_, Some(_)))));
    }

    /// A server that says what it has to say and closes, as those of HTTP/1.0 do.
    #[tokio::test]
    async fn every_way_to_end_an_answer_is_understood() {
        for (head, body) in [
            ("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok", "ok"),
            ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok", "ok"),
            ("HTTP/1.0 200 OK\r\n\r\nok", "ok"),
            ("HTTP/1.1 204 No Content\r\n\r\n", ""),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "ok"),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-end: 1\r\n\r\n",
                "ok",
            ),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let lines = lines(&listener);
            let serving = async { drop(say(&listener, head.as_bytes()).await) };
            let answered = tokio::join!(ask(&lines), serving).0;
            assert_eq!(answered.unwrap(), body.as_bytes(), "{head}");
            // Each of them is over: the next request has a connection of its own.
            tokio::time::sleep(Duration::from_millis(20)).await;
            let again = tokio::join!(ask(&lines), answer(&listener, 1)).0;
            assert_eq!(again.unwrap(), b"ok", "{head}");
        }
    }

    #[tokio::test]
    async fn a_name_leads_to_whichever_address_is_listened_on() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://localhost:{}", listener.local_addr().unwrap().port());
        let address = Address::parse(&address).unwrap();
        let lines = Lines::to(&address, ClientRules::default()).unwrap();
        let answered = tokio::join!(ask(&lines), answer(&listener, 1)).0;
        assert_eq!(answered.unwrap(), b"ok");
    }

    #[tokio::test]
    async fn who_knows_the_length_need_not_wait_for_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let lines = lines(&listener);
        let asking = async {
            let answer = lines.send(Request::new(Full::default())).await.unwrap();
            assert_eq!(answer.into_body().next().await.unwrap().unwrap(), "ok");
        };
        let ((), _socket) = tokio::join!(asking, answer(&listener, 1));
        assert_eq!(lines.idle.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn who_stops_listening_closes_the_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let lines = lines(&listener);
        let serving = async {
            let mut socket = say(&listener, &ANSWER[..ANSWER.len() - 1]).await;
            socket.read(&mut [0; 1024]).await
        };
        let asking = async {
            let mut answer = lines.send(Request::new(Full::default())).await.unwrap().into_body();
            assert_eq!(answer.next().await.unwrap().unwrap(), "o");
        };
        let ((), closed) = tokio::join!(asking, serving);
        assert_eq!(closed.unwrap(), 0);
        assert!(lines.idle.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_an_error_and_its_connection_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let lines = lines(&listener);
        let serving = async { drop(say(&listener, &ANSWER[..ANSWER.len() - 1]).await) };
        let error = tokio::join!(ask(&lines), serving).0.unwrap_err();
        assert_eq!(
            with_causes(&error),
            "error reading a body from connection: end of file before message length reached"
        );
        assert!(lines.idle.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn only_the_newest_connections_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let lines = lines(&listener);
        for _ in 0..MOST_IDLE + 3 {
            lines.put(lines.open().await.unwrap());
        }
        assert_eq!(lines.idle.lock().unwrap().len(), MOST_IDLE);
    }

    #[test]
    fn only_servers_of_this_machine_are_spoken_to_directly() {
        let to = |address: &str, reach| {
            let rules = ClientRules { reach, ..ClientRules::default() };
            Lines::to(&Address::parse(address).unwrap(), rules).is_some()
        };
        for (address, direct) in [
            ("http://127.0.0.1:8080/v1", true),
            ("http://localhost", true),
            ("http://[::1]:1", true),
            ("https://localhost", false),
            ("http://user:word@localhost", false),
            ("http://192.168.0.2", false),
            ("http://tales.example", false),
        ] {
            assert_eq!(to(address, Reach::Anywhere), direct, "{address}");
            assert!(!to(address, Reach::Public), "{address}");
        }
    }
}
